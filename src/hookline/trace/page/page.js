"use strict";
// What people do; it comes last, as it starts everything.
function tab(name) {
  for (const each of ["hooks", "event"]) {
    $(each).hidden = each !== name;
    $(`tab-${each}`).setAttribute("aria-selected", String(each === name));
    $(`tab-${each}`).tabIndex = each === name ? 0 : -1;
  }
}

function search(text) {
  $("search").value = text;
  state.words = text.toLowerCase().split(/\s+/).filter(Boolean);
  $("list").scrollTop = 0;
  refresh();
}

function clear() {
  state.off.clear();
  state.session = $("session").value = "";
  state.range = null;
  showDecisions();
  search("");
}

function showDecisions() {
  const counts = new Map();
  for (const event of events) counts.set(event.decision, (counts.get(event.decision) || 0) + 1);
  const buttons = Object.keys(MARKS).filter((word) => counts.has(word)).map((word) => {
    const button = make("button", { type: "button", "aria-pressed": String(!state.off.has(word)) },
      badge(word), make("small", null, String(counts.get(word))));
    button.addEventListener("click", () => {
      if (!state.off.delete(word)) state.off.add(word);
      button.setAttribute("aria-pressed", String(!state.off.has(word)));
      refresh();
    });
    return button;
  });
  $("decisions").replaceChildren(...buttons);
}

function showSessions() {
  const counts = new Map();
  for (const event of events) counts.set(event.session_id, (counts.get(event.session_id) || 0) + 1);
  $("session").replaceChildren(make("option", { value: "" }, `all ${counts.size} sessions`),
    ...[...counts].map(([id, number]) => make("option", { value: id },
      `${id.length > 18 ? `${id.slice(0, 8)}…` : id || "no session"} (${number})`)));
  $("session").hidden = counts.size < 2;
  const last = day(start) === day(end) ? clock(end) : `${day(end)} ${clock(end)}`;
  const days = events.length ? `${day(start)} ${clock(start)} – ${last}` : "nothing was recorded";
  const all = trace.total > events.length ? `the newest ${events.length} of ${trace.total} events`
    : `${events.length} ${events.length === 1 ? "event" : "events"}`;
  $("summary").textContent = `${all} · ${days}`;
}

$("search").addEventListener("input", () => search($("search").value));
$("session").addEventListener("change", () => {
  state.session = $("session").value;
  refresh();
});
$("clear").addEventListener("click", clear);
$("unzoom").addEventListener("click", () => {
  state.range = null;
  refresh();
});
$("list").addEventListener("scroll", drawRows, { passive: true });
$("list").addEventListener("keydown", (press) => {
  const page = Math.max(1, Math.floor($("list").clientHeight / ROW) - 1);
  const last = state.shown.length - 1, now = state.shown.indexOf(state.chosen);
  const places = {
    ArrowDown: now + 1, ArrowUp: now < 0 ? last : now - 1, PageDown: now + page,
    PageUp: now - page, Home: 0, End: last,
  };
  if (press.key in places && last >= 0) {
    press.preventDefault();
    choose(state.shown[Math.max(0, Math.min(last, places[press.key]))]);
  } else if (press.key === "Enter" && state.chosen) {
    choose(state.chosen, { focus: true });
  }
});
document.addEventListener("keydown", (press) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(press.target.tagName);
  if (press.key === "/" && !typing) {
    press.preventDefault();
    $("search").focus();
  } else if (press.key === "Escape") {
    if (press.target === $("search") && $("search").value) search("");
    else if (state.chosen) choose(null);
    $("list").focus();
  }
});
for (const name of ["hooks", "event"]) {
  $(`tab-${name}`).addEventListener("click", () => tab(name));
  $(`tab-${name}`).addEventListener("keydown", (press) => {
    if (press.key !== "ArrowLeft" && press.key !== "ArrowRight") return;
    const other = name === "hooks" ? "event" : "hooks";
    tab(other);
    $(`tab-${other}`).focus();
  });
}
$("timeline").addEventListener("pointerdown", (press) => {
  const [x] = place(press);
  drag = { from: x, to: x };
  $("timeline").setPointerCapture(press.pointerId);
});
$("timeline").addEventListener("pointermove", (press) => {
  const [x, y] = place(press);
  if (drag) {
    drag.to = x;
    drawTimeline();
  } else {
    const event = near(x, y);
    $("timeline").title = event
      ? `${clock(event.at, true)} ${event.event} ${event.target} ${event.decision}` : "";
  }
});
$("timeline").addEventListener("pointerup", (press) => {
  if (!drag) return;
  const [x, y] = place(press), { from } = drag;
  drag = null;
  if (Math.abs(x - from) > 5) {
    const range = span(), width = $("timeline").clientWidth;
    state.range = [atOf(Math.min(from, x), range, width), atOf(Math.max(from, x), range, width)];
    refresh();
  } else {
    const event = near(x, y);
    if (event) choose(event);
    else drawTimeline();
  }
});
window.addEventListener("resize", () => {
  drawRows();
  drawTimeline();
});

const dark = window.matchMedia("(prefers-color-scheme: dark)");
function theme(name) {
  document.documentElement.dataset.theme = name;
  drawTimeline();
}
dark.addEventListener("change", () => theme(dark.matches ? "dark" : "light"));
$("theme").addEventListener("click", () =>
  theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));

showDecisions();
showSessions();
showHooks();
$("event").replaceChildren(make("p", { class: "empty" }, "Choose an event to see it in full."));
tab("hooks");
theme(dark.matches ? "dark" : "light");
refresh();
$("list").scrollTop = $("list").scrollHeight;
