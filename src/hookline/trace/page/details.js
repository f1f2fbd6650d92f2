"use strict";
function block(title, text) {
  return text ? [make("h3", null, title), make("pre", { tabindex: "0" }, text)] : [];
}
const json = (value) => (value === null || value === undefined ? "" : JSON.stringify(value, null, 2));

function showEvent(event) {
  const facts = [["id", event.id], ["time", `${day(event.at)} ${clock(event.at, true)}`],
    ["session", event.session_id || "–"]];
  if (event.hooks.length) {
    const order = event.sequential ? "one after the other" : "at the same time";
    const how = event.hooks.length > 1 ? `${event.hooks.length} hooks, ${order}` : "1 hook";
    facts.push(["took", `${took(event.duration_ms)} · ${how}`]);
  }
  const list = make("dl");
  for (const [name, value] of facts) list.append(make("dt", null, name), make("dd", null, value));
  const notes = event.warnings.map((text) => make("p", { class: "note" }, `warning: ${text}`));
  if (!event.complete) {
    notes.push(make("p", { class: "note" }, "The log has only a part of this event."));
  }
  $("event").replaceChildren(
    make("h2", null, event.event || "Warning",
      event.target ? make("span", { class: "target" }, ` ${event.target}`) : ""),
    make("p", { class: "verdict" }, ...event.words.map(badge), event.reason || ""),
    list, ...notes, ...(event.hooks.length ? [fall(event)] : []),
    ...(event.change ? [showChange(event.change, "all hooks together")] : []),
    ...event.hooks.map((run) => showRun(event, run)),
    ...(event.hooks.length ? [] : block("input", json(event.input))),
    ...block("merged output", json(event.output)));
  $("event").scrollTop = 0;
  markFound($("event"), state.words);
}

// What was searched for, wherever it stands; a page must not hang on a letter that is everywhere.
function markFound(root, words) {
  if (!words.length) return;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  let left = 500;
  for (const node of nodes) {
    const text = node.data, lower = text.toLowerCase();
    if (lower.length !== text.length) continue;
    const pieces = [];
    let from = 0;
    while (left > 0) {
      const found = words.map((word) => [lower.indexOf(word, from), word.length])
        .filter(([at]) => at >= 0).sort((a, b) => a[0] - b[0])[0];
      if (!found) break;
      const [at, size] = found;
      pieces.push(text.slice(from, at), make("mark", { class: "found" }, text.slice(at, at + size)));
      from = at + size;
      left -= 1;
    }
    if (pieces.length) node.replaceWith(...pieces, text.slice(from));
  }
}

function fall(event) {
  const element = make("div", { class: "fall", "aria-hidden": "true" });
  const all = Math.max(event.duration_ms, 0.001);
  for (const run of event.hooks) {
    element.append(make("div", null, make("span", { class: "name", title: run.hook }, run.hook),
      make("span", { class: `track ${toneOf(run.words[0])}` }, make("span", { style: {
        left: `${(100 * run.start_ms) / all}%`, width: `${(100 * run.duration_ms) / all}%`,
      } })), make("span", { class: "end" }, took(run.duration_ms))));
  }
  return element;
}

function showRun(event, run) {
  const end = run.signal || (run.exit_code === null ? "" : `exit ${run.exit_code}`);
  const word = make("span", { class: toneOf(run.words[0]) }, run.words.join(", "));
  const summary = make("summary", null, make("b", null, run.hook),
    make("small", null, [run.source, run.async ? "async" : "", run.started ? "" : took(run.duration_ms),
      end].filter(Boolean).join(" · ")),
    word, run.reason ? `: ${run.reason}` : "");
  const body = make("div", { class: "body" },
    ...run.warnings.map((text) => make("p", { class: "note" }, text)),
    ...block("error", run.error || ""),
    ...(run.change ? [showChange(run.change, run.hook)] : []), showSides(event, run));
  const quiet = !(run.failed || run.effects.length || run.stdout || run.stderr || run.warnings.length);
  return make("details", { class: "hook", ...(quiet ? {} : { open: "" }) }, summary, body);
}

// What it read beside what it answered.
function showSides(event, run) {
  const silent = run.started ? "Nobody waits for it; its end is an entry of its own." : "It printed nothing.";
  const answered = [...block("answered", json(run.output)), ...block("stdout", run.stdout),
    ...block("stderr", run.stderr)];
  if (!answered.length) answered.push(make("h3", null, "answered"), make("p", { class: "silent" }, silent));
  return make("div", { class: "sides" },
    make("div", null, ...block("read", json(event.input))), make("div", null, ...answered));
}

const COLUMNS = [["hook", "hook"], ["runs", "runs"], ["p50_ms", "p50"], ["p95_ms", "p95"],
  ["p99_ms", "p99"], ["max_ms", "max"], ["failures", "failed"], ["blocks", "blocked"]];

function showHooks() {
  if (!trace.hooks.length) {
    $("hooks").replaceChildren(make("p", { class: "empty" }, "No hook ran."));
    return;
  }
  const head = make("tr");
  for (const [key, title] of COLUMNS) {
    const arrow = key === state.sort ? (state.descending ? " ↓" : " ↑") : "";
    const button = make("button", { type: "button" }, title + arrow);
    button.addEventListener("click", () => {
      state.descending = key === state.sort ? !state.descending : key !== "hook";
      state.sort = key;
      showHooks();
      $("hooks").querySelectorAll("th button")[COLUMNS.findIndex((c) => c[0] === key)].focus();
    });
    const sorted = key === state.sort ? (state.descending ? "descending" : "ascending") : null;
    head.append(make("th", { scope: "col", "aria-sort": sorted }, button));
  }
  const sign = state.descending ? -1 : 1;
  const rows = [...trace.hooks].sort((a, b) =>
    sign * (a[state.sort] < b[state.sort] ? -1 : a[state.sort] > b[state.sort] ? 1 : 0));
  const most = Math.max(...rows.map((each) => each.p95_ms), 0.001);
  $("hooks").replaceChildren(make("table", null, make("thead", null, head),
    make("tbody", null, ...rows.map((each) => hookRow(each, most)))));
}

function hookRow(each, most) {
  const name = make("button", { type: "button", title: "Show its events" }, each.hook);
  name.addEventListener("click", () => search(each.hook));
  const number = (value) => make("td", { class: value ? "some" : "zero" }, String(value));
  return make("tr", null,
    make("td", null, name, make("div", { class: "meter" }, make("span", {
      style: { width: `${(100 * each.p95_ms) / most}%` } }))),
    make("td", null, String(each.runs)),
    ...["p50_ms", "p95_ms", "p99_ms", "max_ms"].map((key) => make("td", null, took(each[key]))),
    number(each.failures),
    make("td", { class: each.blocks ? "" : "zero" }, String(each.blocks)));
}
