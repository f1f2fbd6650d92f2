"use strict";
const ROW = 44, LANE = 18, AXIS = 18, MARKS = {
  stopped: "■", blocked: "✕", asked: "?", answered: "↵", redacted: "▬", rewritten: "≠",
  restricted: "∩", "sent back": "↺", "history cleared": "∅", "history kept": "=", "tail call": "→",
  "variables set": "$", "context added": "+", failed: "!", allowed: "✓", "no hook": "–", async: "»",
  warning: "!",
};
const trace = JSON.parse(document.getElementById("trace").textContent);
const events = trace.events;
// Where the panes stand below each other.
const narrow = window.matchMedia("(max-width: 900px)");
const $ = (id) => document.getElementById(id);
const state = {
  words: [], only: new Set(), failures: false, session: "", kind: "", hook: "", range: null,
  shown: events, chosen: null, sort: "p95_ms", descending: true,
};

for (const event of events) {
  event.at = Date.parse(event.time);
  event.end = event.at + event.duration_ms;
  event.failures = event.hooks.filter((run) => run.failed).length;
  for (const each of [event, ...event.hooks]) {
    each.words = each.effects.length ? each.effects : [each.decision];
  }
}
for (const { event, hook, ...change } of trace.changes) {
  (hook === undefined ? events[event] : events[event].hooks[hook]).change = change;
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

// What failed is told from what was blocked, though both are bad.
const toneOf = (word) => (word === "failed" || word === "stopped" ? word : trace.tones[word] || "faint");
const badge = (word) =>
  make("span", { class: `badge ${toneOf(word)}`, "data-mark": MARKS[word] || "·" }, word);

// One unit, so that times stand below each other and compare.
const took = (ms) => `${ms.toFixed(1)} ms`;

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
    text = JSON.stringify([event.id, event.event, event.target, event.words, event.reason,
      event.session_id, event.hooks, event.input, event.output, event.warnings]).toLowerCase();
    texts.set(event, text);
  }
  return text;
}

function matches(event) {
  if (state.only.size && !event.words.some((word) => state.only.has(word))) return false;
  if (state.failures && !event.failures && event.decision !== "failed") return false;
  if (state.session && event.session_id !== state.session) return false;
  if (state.kind && event.event !== state.kind) return false;
  if (state.hook && !event.hooks.some((run) => run.hook === state.hook)) return false;
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
