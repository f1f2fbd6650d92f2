"use strict";
// What hooks read beside what they made of it, line by line. A value may be as long as a log lets
// it be, so there is an end to what is compared and to what is shown.
const MOST_COMPARED = 4e6, MOST_ROWS = 400, AROUND = 3;

// A text by its lines, names each in a line, anything else as JSON in which the lines of a text are
// lines, too.
function linesOf(value) {
  if (value === null || value === undefined) return [];
  if (typeof value === "string") return value.split("\n");
  if (Array.isArray(value) && value.every((each) => typeof each === "string")) return value;
  return JSON.stringify(value, null, 2)
    .replace(/\\(.)/g, (pair, letter) => (letter === "n" ? `${pair}\n` : pair)).split("\n");
}

// Pairs of lines; one that has no counterpart is beside null, and equal ones are the same.
function pairLines(before, after) {
  let start = 0, end = 0;
  const least = Math.min(before.length, after.length);
  while (start < least && before[start] === after[start]) start += 1;
  while (end < least - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const left = before.slice(start, before.length - end), right = after.slice(start, after.length - end);
  const same = (line) => [line, line];
  return [...before.slice(0, start).map(same), ...pairChanged(left, right),
    ...before.slice(before.length - end).map(same)];
}

function pairChanged(left, right) {
  const wide = right.length + 1, pairs = [];
  let removed = [], added = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) {
      pairs.push([removed[at] ?? null, added[at] ?? null]);
    }
    removed = [];
    added = [];
  };
  if ((left.length + 1) * wide > MOST_COMPARED) {
    removed = left;
    added = right;
    flush();
    return pairs;
  }
  // How many lines two rests have in common.
  const common = new Uint32Array((left.length + 1) * wide);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      common[i * wide + j] = left[i] === right[j] ? common[(i + 1) * wide + j + 1] + 1
        : Math.max(common[(i + 1) * wide + j], common[i * wide + j + 1]);
    }
  }
  let i = 0, j = 0;
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      flush();
      pairs.push([left[i], right[j]]);
      i += 1;
      j += 1;
    } else if (j === right.length || (i < left.length
        && common[(i + 1) * wide + j] >= common[i * wide + j + 1])) {
      removed.push(left[i]);
      i += 1;
    } else {
      added.push(right[j]);
      j += 1;
    }
  }
  flush();
  return pairs;
}

// A line with what differs from its counterpart marked.
function markLine(tag, line, other) {
  let start = 0, end = 0;
  const least = other === null ? 0 : Math.min(line.length, other.length);
  while (start < least && line[start] === other[start]) start += 1;
  while (end < least - start && line.at(-1 - end) === other.at(-1 - end)) end += 1;
  if (!start && !end) return make(tag, null, line || " ");
  return make(tag, null, line.slice(0, start), make("mark", null, line.slice(start, line.length - end)),
    line.slice(line.length - end));
}

function showPair([left, right]) {
  if (left === right) {
    return make("div", { class: "pair same" }, make("span", null, left || " "),
      make("span", { "aria-hidden": "true" }, right || " "));
  }
  const gone = left === null ? make("span", { class: "none" }) : markLine("del", left, right);
  const come = right === null ? make("span", { class: "none" }) : markLine("ins", right, left);
  return make("div", { class: "pair" }, gone, come);
}

function showChange(change, who) {
  const pairs = pairLines(linesOf(change.before), linesOf(change.after)), rows = [];
  const near = new Uint8Array(pairs.length);
  pairs.forEach(([left, right], at) => {
    if (left !== right) near.fill(1, Math.max(0, at - AROUND), at + AROUND + 1);
  });
  let skipped = 0;
  const skip = () => {
    if (skipped) rows.push(make("p", { class: "skipped" }, `${skipped} equal ${skipped === 1 ? "line" : "lines"}`));
    skipped = 0;
  };
  pairs.forEach((pair, at) => {
    if (rows.length >= MOST_ROWS) return;
    if (!near[at]) {
      skipped += 1;
      return;
    }
    skip();
    rows.push(showPair(pair));
  });
  if (rows.length >= MOST_ROWS) rows.push(make("p", { class: "skipped" }, "More differs than is shown here."));
  else skip();
  const names = Array.isArray(change.before) || Array.isArray(change.after) ? " names" : "";
  return make("section", { class: "diff", "aria-label": `${change.what}, before and after ${who}` },
    make("div", { class: "pair titles" }, make("h3", null, `${change.what} before`,
      make("span", { class: "both" }, " and after")),
      make("h3", null, "after")),
    make("div", { class: `lines${names}`, tabindex: "0" }, ...rows));
}
