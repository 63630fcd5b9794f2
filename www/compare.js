// The comparison: a row of controls over each lane of the graph.
import load, { Compare } from "./pkg/ratescope.js";
import { $, on, start } from "./shared.js";

/** Text changes at most this often, in milliseconds; faster can't be read. */
const READABLE = 100;

/** A screen reader is told at most this often, in milliseconds. */
const POLITE = 10_000;

/** One row a lane, in their order. */
let rows = [];

/** As many rows as there are lanes, each with its rule unless someone is typing there. */
function shown(page) {
  // What was done is seen and said at once.
  told = written = -Infinity;
  const rules = page.rules();
  while (rows.length > rules.length) rows.pop().remove();
  while (rows.length < rules.length) rows.push(row(page, rows.length));
  rules.forEach((rule, i) => {
    const { box } = rows[i];
    const busy = box === document.activeElement || box.ariaInvalid === "true";
    if (!busy || box.dataset.rule !== rule) {
      box.value = rule;
      say(rows[i], rule, "");
    }
    rows[i].title = page.about(i);
    for (const [name, end] of [["up", 0], ["down", rules.length - 1]]) rows[i].querySelector(`.${name}`).disabled = i === end;
    rows[i].querySelector(".remove").disabled = rules.length === 1;
  });
  $("graph").style.height = `${page.height()}px`;
}

/** The row of lane `i`, wired. */
function row(page, i) {
  const row = $("lane").content.cloneNode(true).firstElementChild;
  row.style.setProperty("--lane", i);
  row.classList.add(`lane-${(i % 8) + 1}`);
  row.querySelector(".number").textContent = i + 1;
  row.box = row.querySelector("input");
  row.box.ariaLabel = `Lane ${i + 1}, its limiter`;
  row.querySelector(".error").id = `lane-${i + 1}-error`;
  row.box.setAttribute("aria-describedby", `lane-${i + 1}-error`);
  row.outputs = row.querySelectorAll("output");
  ["allowed", "refused", "share"].forEach((name, k) => { row.outputs[k].id = `${name}-${i + 1}`; });
  on(row.box, "input", () => {
    const error = page.change_lane(i, row.box.value);
    say(row, page.rules()[i], error);
    changed();
  });
  on(row.box, "blur", () => shown(page));
  const act = (name, label, act) => {
    const button = row.querySelector(`.${name}`);
    button.ariaLabel = `${label} lane ${i + 1}`;
    on(button, "click", () => { act(); changed(); });
  };
  const move = (to) => { if (to >= 0 && to < rows.length) { page.move_lane(i, to); rows[to].box.focus(); } };
  act("up", "Move up", () => move(i - 1));
  act("down", "Move down", () => move(i + 1));
  act("remove", "Remove", () => { page.remove_lane(i); rows[Math.max(0, i - 1)].box.focus(); });
  on(row.box, "keydown", (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!event.altKey || by === undefined) return;
    event.preventDefault();
    move(i + by);
    changed();
  });
  $("lanes").append(row);
  return row;
}

/** Shows what is wrong with a lane's text; `rule` is in force. */
function say(row, rule, error) {
  row.box.dataset.rule = rule;
  row.box.ariaInvalid = String(error !== "");
  row.querySelector(".error").textContent = error && `${error}. Still ${rule}.`;
}

let written = -Infinity;
let told = -Infinity;

/** Writes the counters, if it is time. */
function drawn(page, now) {
  $("live").hidden = page.is_live();
  if (now - written < READABLE) return;
  written = now;
  const texts = page.texts();
  const counts = page.counts();
  rows.forEach((row, i) => {
    row.outputs.forEach((output, k) => {
      if (output.textContent !== texts[4 * i + k]) output.textContent = texts[4 * i + k];
    });
    row.outputs[0].dataset.value = counts[2 * i];
    row.outputs[1].dataset.value = counts[2 * i + 1];
  });
  $("sent").dataset.value = page.sent();
  $("sent").textContent = page.sent().toLocaleString("en").replaceAll(",", " ");
  if ($("note").textContent !== page.note()) $("note").textContent = page.note();
  if (now - told >= POLITE) {
    told = now;
    $("summary").textContent = page.summary();
  }
}

/** Shows what was done and keeps it in the address. */
let changed;

start({
  load,
  View: Compare,
  boxes: ["budget", "cost", "auto-rate", "seed", "script"],
  selects: ["pattern", "speed", "window"],
  ticks: ["auto"],
  wire(page, after) {
    changed = after;
    const wrong = (error) => {
      $("add-error").textContent = error;
      $("add").ariaInvalid = String(error !== "");
    };
    const add = () => {
      const error = page.add_lane($("add").value);
      wrong(error);
      if (!error) $("add").value = "";
      changed();
    };
    // A link begins anew: before it is followed, no box has anything wrong to keep.
    const forget = () => {
      wrong("");
      rows.forEach(({ box }) => { delete box.dataset.rule; });
    };
    on(window, "hashchange", forget);
    on($("scenarios"), "click", forget, true);
    on($("add-lane"), "click", add);
    on($("add"), "keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); add(); } });
  },
  shown,
  drawn,
});
