"use strict";
// A lane for each kind of event, on a canvas: thousands of marks, drawn anew at every change.
const kinds = [...new Set(events.map((event) => event.event || "warnings"))];
const start = events.reduce((least, event) => Math.min(least, event.at), Infinity);
const end = events.reduce((most, event) => Math.max(most, event.end), -Infinity);
function span() {
  if (state.range) return state.range;
  if (!events.length) return [0, 1];
  const margin = Math.max(5, (end - start) * 0.01);
  return [start - margin, end + margin];
}

// Where the lanes begin: a narrow page has little room for their names.
let LEFT = 150;
// Milliseconds between the times on the axis.
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5,
  6e5, 9e5, 18e5, 36e5, 72e5, 108e5, 216e5, 432e5, 864e5];
let drag = null;
const xOf = (at, [from, to], width) => LEFT + ((at - from) / (to - from)) * (width - LEFT - 8);
const atOf = (x, [from, to], width) =>
  from + ((Math.max(LEFT, x) - LEFT) / (width - LEFT - 8)) * (to - from);

function drawTimeline() {
  const canvas = $("timeline"), ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = kinds.length * LANE + AXIS;
  LEFT = Math.min(150, Math.round(width * 0.3));
  canvas.style.height = `${height}px`;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const colours = new Map(trace.decisions.map((word) => [word, colour(toneOf(word))]));
  pen.scale(ratio, ratio);
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const range = span();
  drawAxis(pen, range, width, height, colour);
  kinds.forEach((kind, index) => {
    pen.fillStyle = colour("dim");
    pen.fillText(kind, 2, index * LANE + LANE / 2, LEFT - 12);
    pen.fillStyle = colour("soft");
    pen.fillRect(LEFT, index * LANE + LANE - 1, width - LEFT - 8, 1);
  });
  const visible = new Set(state.shown);
  for (const dim of [true, false]) {
    for (const event of events) {
      if (visible.has(event) === dim || event.end < range[0] || event.at > range[1]) continue;
      pen.globalAlpha = dim ? 0.12 : 1;
      pen.fillStyle = pen.strokeStyle = colours.get(event.decision) || colour("dim");
      drawEvent(pen, event, range, width);
    }
  }
  pen.globalAlpha = 1;
  if (state.chosen) drawChosen(pen, range, width, colour("accent"));
  if (drag) {
    pen.globalAlpha = 0.2;
    pen.fillStyle = colour("accent");
    pen.fillRect(Math.min(drag.from, drag.to), 0, Math.abs(drag.to - drag.from), height - AXIS);
  }
  $("unzoom").hidden = state.range === null;
  canvas.setAttribute("aria-label", `Timeline of ${state.shown.length} events from ` +
    `${clock(range[0])} to ${clock(range[1])}; the list below has the same events`);
}

function drawAxis(pen, range, width, height, colour) {
  const least = (range[1] - range[0]) / Math.max(2, Math.floor((width - LEFT) / 110));
  const step = STEPS.find((each) => each >= least) || 86400000 * Math.ceil(least / 86400000);
  const dated = day(range[0]) !== day(range[1]);
  const zone = new Date(range[0]).getTimezoneOffset() * 60000;
  pen.textAlign = "center";
  for (let at = Math.ceil((range[0] - zone) / step) * step + zone; at <= range[1]; at += step) {
    const x = xOf(at, range, width), time = clock(at, step < 1000);
    pen.fillStyle = colour("line");
    pen.fillRect(x, 0, 1, height - AXIS + 3);
    pen.fillStyle = colour("dim");
    const text = step % 60000 ? time : time.slice(0, 5);
    pen.fillText(dated ? `${day(at).slice(5)} ${text}` : text, Math.min(x, width - 40), height - 7);
  }
  pen.textAlign = "left";
}

// The shape says what the colour says: full height for a block, the lower half for a change, a
// frame for no hook, and so on.
function drawEvent(pen, event, range, width) {
  const top = kinds.indexOf(event.event || "warnings") * LANE + 1, tall = LANE - 3;
  const x = xOf(event.at, range, width);
  const wide = Math.max(3, xOf(event.end, range, width) - x);
  const middle = top + tall / 2, tone = toneOf(event.decision);
  if (tone === "bad" || tone === "stopped") {
    pen.fillRect(x, top, wide, tall);
  } else if (tone === "change") {
    pen.fillRect(x, middle, wide, tall / 2);
  } else if (tone === "faint") {
    pen.strokeRect(x + 0.5, middle - 1.5, 3, 3);
  } else if (tone === "care") {
    shape(pen, [[x, middle], [x + 5, middle - 6], [x + 10, middle], [x + 5, middle + 6]]);
    pen.fillRect(x + 5, middle - 1, Math.max(0, wide - 5), 2);
  } else if (tone === "failed") {
    shape(pen, [[x - 5, middle + 6], [x, middle - 6], [x + 5, middle + 6]]);
  } else if (wide > 24 && event.hooks.length > 1) {
    const each = tall / event.hooks.length;
    event.hooks.forEach((run, index) => {
      const from = xOf(event.at + run.start_ms, range, width);
      const to = xOf(event.at + run.start_ms + run.duration_ms, range, width);
      pen.fillRect(from, top + index * each, Math.max(2, to - from), Math.max(1, each - 1));
    });
  } else {
    pen.fillRect(x, middle - 3, wide, 6);
  }
  if (event.failures && event.decision !== "failed") {
    pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--failed");
    shape(pen, [[x - 3, top], [x + 4, top], [x + 0.5, top + 6]]);
  }
}

function shape(pen, points) {
  pen.beginPath();
  points.forEach(([x, y], index) => (index ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.fill();
}

function drawChosen(pen, range, width, colour) {
  const event = state.chosen;
  if (event.end < range[0] || event.at > range[1]) return;
  const x = xOf(event.at, range, width);
  const wide = Math.max(3, xOf(event.end, range, width) - x);
  pen.strokeStyle = colour;
  pen.lineWidth = 2;
  pen.strokeRect(x - 3, kinds.indexOf(event.event || "warnings") * LANE - 0.5, wide + 6, LANE - 1);
  pen.lineWidth = 1;
}

function near(x, y) {
  const range = span(), width = $("timeline").clientWidth;
  const kind = kinds[Math.floor(y / LANE)];
  let found = null, least = 12;
  for (const event of state.shown) {
    if ((event.event || "warnings") !== kind) continue;
    const from = xOf(event.at, range, width), to = Math.max(from + 3, xOf(event.end, range, width));
    const away = x < from ? from - x : x > to ? x - to : 0;
    if (away < least) {
      least = away;
      found = event;
    }
  }
  return found;
}

function place(event) {
  const box = $("timeline").getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}
