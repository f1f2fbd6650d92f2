"use strict";
// Only the rows in sight exist, so that thousands of events cost no more than twenty.
const ordered = events.map((event) => event.duration_ms).sort((a, b) => a - b);
const scale = Math.max(1, 1.25 * (ordered[Math.floor(ordered.length * 0.95)] || 1));

function drawRows() {
  const list = $("list"), first = Math.max(0, Math.floor(list.scrollTop / ROW) - 8);
  const last = Math.min(state.shown.length, first + Math.ceil(list.clientHeight / ROW) + 17);
  const rows = [];
  for (let index = first; index < last; index += 1) rows.push(row(state.shown[index], index));
  $("space").replaceChildren(...rows);
  const chosen = state.shown.indexOf(state.chosen);
  if (chosen >= first && chosen < last) list.setAttribute("aria-activedescendant", `row-${chosen}`);
  else list.removeAttribute("aria-activedescendant");
}

function row(event, index) {
  const names = event.hooks.map((run) => run.hook + markOf(run)).join(", ");
  const label = `${clock(event.at)} ${event.words.join(", ")} ${event.event} ${event.target} ${names}`;
  const element = make("div", {
    class: "row", role: "option", id: `row-${index}`, "aria-label": label,
    "aria-selected": String(event === state.chosen), "aria-setsize": state.shown.length,
    "aria-posinset": index + 1, style: { top: `${index * ROW}px` },
  },
  make("time", { title: event.time }, clock(event.at)),
  make("span", { class: "decision", title: event.words.join(", ") }, badge(event.decision)),
  make("span", { class: "what", title: event.reason },
    make("b", null, event.event || event.reason || "–"), make("i", null, event.target)),
  make("span", { class: "who" },
    make("div", { class: "names", title: names }, names),
    event.hooks.length ? lanes(event) : null),
  make("span", { class: "end" }, event.hooks.length ? took(event.duration_ms) : ""));
  element.addEventListener("click", () => {
    choose(event);
    if (narrow.matches) $("right").scrollIntoView();
  });
  return element;
}

function markOf(run) {
  const [word] = run.words;
  return word === "failed" || run.effects.length ? ` ${MARKS[word]}` : "";
}

function lanes(event) {
  const element = make("div", { class: "lanes", "aria-hidden": "true" });
  const height = 10 / event.hooks.length;
  event.hooks.forEach((run, index) => {
    const left = Math.min(98, (100 * run.start_ms) / scale);
    element.append(make("span", { class: toneOf(run.words[0]), style: {
      left: `${left}%`, width: `${Math.min(100 - left, (100 * run.duration_ms) / scale)}%`,
      top: `${index * height}px`, height: `${Math.max(1, height - (height > 3 ? 1 : 0))}px`,
    } }));
  });
  return element;
}

function choose(event, { focus = false } = {}) {
  state.chosen = event;
  document.querySelector("main").classList.toggle("open", event !== null);
  if (event === null) {
    tab("hooks");
  } else {
    showEvent(event);
    tab("event");
    reveal(event);
  }
  drawRows();
  drawTimeline();
  if (focus) $("event").focus();
}

function reveal(event) {
  const list = $("list"), top = state.shown.indexOf(event) * ROW;
  if (top < 0) return;
  if (top < list.scrollTop) list.scrollTop = top;
  const below = top + ROW - list.clientHeight;
  if (below > list.scrollTop) list.scrollTop = below;
}
