"use strict";
const ROW = 44, LANE = 18, AXIS = 18, MARKS = {
  allowed: "✓", blocked: "✕", stop: "■", ask: "?", failed: "!", warning: "!", "no hook": "–",
  async: "»",
};
const HOOK_CLASSES = {
  deny: "blocked", block: "blocked", answers: "blocked", stop: "stop", ask: "ask", failed: "failed",
};
const trace = JSON.parse(document.getElementById("trace").textContent);
const events = trace.events;
// Where the panes stand below each other.
const narrow = window.matchMedia("(max-width: 900px)");
const $ = (id) => document.getElementById(id);
const state = {
  words: [], off: new Set(), session: "", range: null, shown: events, chosen: null,
  sort: "p95_ms", descending: true,
};

for (const event of events) {
  event.at = Date.parse(event.time);
  event.end = event.at + event.duration_ms;
  event.failures = event.hooks.filter((run) => run.failed).length;
}

// Everything that hooks wrote goes in as text, never as markup.
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "style") Object.assign(element.style, value);
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const cssClass = (word) => (word === "no hook" || word === "async" ? "none" : word);
const hookClass = (run) => HOOK_CLASSES[run.decision] || "allowed";
const badge = (word) =>
  make("span", { class: `badge ${cssClass(word)}`, "data-mark": MARKS[word] || "·" }, word);

function took(ms) {
  if (ms >= 1000) return `${Number((ms / 1000).toPrecision(3))} s`;
  return ms >= 1 ? `${ms.toFixed(0)} ms` : `${ms.toFixed(1)} ms`;
}

const two = (number) => String(number).padStart(2, "0");
function clock(at, precise) {
  const time = new Date(at);
  const hours = `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
  return precise ? `${hours}.${String(time.getMilliseconds()).padStart(3, "0")}` : hours;
}
function day(at) {
  const time = new Date(at);
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
}

const texts = new Map();
function textOf(event) {
  let text = texts.get(event);
  if (text === undefined) {
    text = JSON.stringify([event.id, event.event, event.target, event.decision, event.reason,
      event.session_id, event.hooks, event.input, event.warnings]).toLowerCase();
    texts.set(event, text);
  }
  return text;
}

function matches(event) {
  if (state.off.has(event.decision)) return false;
  if (state.session && event.session_id !== state.session) return false;
  if (state.range && (event.end < state.range[0] || event.at > state.range[1])) return false;
  return state.words.every((word) => textOf(event).includes(word));
}

function refresh() {
  state.shown = events.filter(matches);
  $("count").textContent = state.shown.length === events.length
    ? `${events.length} events` : `${state.shown.length} of ${events.length}`;
  $("nothing").hidden = state.shown.length > 0;
  $("space").style.height = `${state.shown.length * ROW}px`;
  drawRows();
  drawTimeline();
}
