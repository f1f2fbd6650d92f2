"use strict";
// What people do; it comes last, as it starts everything.
const CHOICES = ["kind", "hook", "session"];

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
  if (state.chosen) showEvent(state.chosen);
}

function clear() {
  state.only.clear();
  state.failures = false;
  for (const name of CHOICES) state[name] = $(name).value = "";
  state.range = null;
  showDecisions();
  search("");
}

// How often each of the words that an event has occurs.
function countWords(wordsOf) {
  const counts = new Map();
  for (const event of events) {
    for (const word of new Set(wordsOf(event))) counts.set(word, (counts.get(word) || 0) + 1);
  }
  return counts;
}

function showDecisions() {
  const toggle = (label, number, isOn, act) => {
    const button = make("button", { type: "button", "aria-pressed": String(isOn()) }, label,
      make("small", null, String(number)));
    button.addEventListener("click", () => {
      act();
      button.setAttribute("aria-pressed", String(isOn()));
      $("list").scrollTop = 0;
      refresh();
    });
    return button;
  };
  const counts = countWords((event) => event.words);
  const buttons = trace.decisions.filter((word) => counts.has(word)).map((word) =>
    toggle(badge(word), counts.get(word), () => state.only.has(word), () => {
      if (!state.only.delete(word)) state.only.add(word);
    }));
  const failures = events.filter((event) => event.failures || event.decision === "failed").length;
  if (failures) {
    buttons.push(toggle("with failures", failures, () => state.failures, () => {
      state.failures = !state.failures;
    }));
  }
  $("decisions").replaceChildren(...buttons);
}

function showChoice(name, all, wordsOf, shown) {
  const counts = countWords(wordsOf);
  $(name).replaceChildren(make("option", { value: "" }, `all ${counts.size} ${all}`),
    ...[...counts].map(([word, number]) => make("option", { value: word }, `${shown(word)} (${number})`)));
  $(name).hidden = counts.size < 2;
  $(name).addEventListener("change", () => {
    state[name] = $(name).value;
    refresh();
  });
}

function showSummary() {
  const last = day(start) === day(end) ? clock(end) : `${day(end)} ${clock(end)}`;
  const days = events.length ? `${day(start)} ${clock(start)} – ${last}` : "nothing was recorded";
  const all = trace.total > events.length ? `the newest ${events.length} of ${trace.total} events`
    : `${events.length} ${events.length === 1 ? "event" : "events"}`;
  $("summary").textContent = `${all} · ${days}`;
}

$("search").addEventListener("input", () => search($("search").value));
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
      ? `${clock(event.at, true)} ${event.event} ${event.target} ${event.words.join(", ")}` : "";
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
const short = (text) => (text.length > 30 ? `${text.slice(0, 29)}…` : text);
showChoice("kind", "kinds of event", (event) => (event.event ? [event.event] : []), short);
showChoice("hook", "hooks", (event) => event.hooks.map((run) => run.hook), short);
showChoice("session", "sessions", (event) => [event.session_id],
  (id) => (id.length > 18 ? `${id.slice(0, 8)}…` : id || "no session"));
showSummary();
showHooks();
$("event").replaceChildren(make("p", { class: "empty" }, "Choose an event to see it in full."));
tab("hooks");
theme(dark.matches ? "dark" : "light");
refresh();
$("list").scrollTop = $("list").scrollHeight;
