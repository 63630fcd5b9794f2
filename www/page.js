// The page: loads the module, tells it what happens, and shows what it says. What is measured, drawn
// and said is decided by the view, which the canvas names with data-view.
//
// An input or select with a name is the setting of that name; [data-step] moves one by [data-by], and
// [data-does] is one of the page's methods; [data-goes] gives an element the focus, [data-copies] copies
// one's text. What is wrong with a setting stands in the .error beside it. What is seldom needed is in
// #more, which is open where a link has it.
import { wireCanvas } from "./canvas.js";
import * as story from "./story.js";
import * as undo from "./undo.js";
import { dress, still, wireTheme } from "./theme.js";

export const $ = (id) => document.getElementById(id);
const graph = $("graph");

/** The module's class for a picture. */
let Page;

/** The view; there once it is loaded. */
export let page;

/** Further pictures on the page: each its page, and what the ids of its texts begin with. */
const others = [];

/** All pictures. */
const pages = () => [page, ...others.map(([other]) => other)];

/** The view's own part: it runs `wire` once it is loaded, `shown` when a setting has changed; time passes if `runs`. */
let own;

/** Starts the page. */
export function start({ wire = () => {}, shown = () => {}, runs = true } = {}) {
  own = { wire, shown, runs };
  guard(async () => {
    await painted();
    // All views are in the one of Tune, and the others need less.
    const module = await import(`./pkg/${graph.dataset.module ?? "ratescope"}.js`);
    await module.default();
    Page = module.Page;
    page = new Page(graph, graph.dataset.view);
    defaults = values();
    wireSettings();
    own.wire();
    wireGraph();
    wireTheme(on, pages);
    wireLinks();
    if (own.runs) {
      undo.wire(on, (name, value) => page.set(name, value), changed);
      wireDrop();
    }
    open();
    animate();
    document.documentElement.dataset.started = "";
    // So that it starts without a network, too. Where that can't be, nothing else is less.
    navigator.serviceWorker?.register("offline.js").catch(() => {});
  });
}

/**
 * Waits until what is in the HTML is on the screen, or half a second: the module, larger than all else,
 * comes after it.
 */
const painted = () => new Promise((done) => {
  new PerformanceObserver(done).observe({ type: "paint", buffered: true });
  setTimeout(done, 500);
});

let failed = false;

/** Runs a step; what goes wrong in it, now or later, stops the page. */
function guard(step) {
  if (failed) return;
  try {
    const done = step();
    if (done instanceof Promise) done.catch(stop);
  } catch (error) {
    stop(error);
  }
}

/** Stops the page with a message, and a trace in the console. */
function stop(error) {
  if (failed) return;
  failed = true;
  console.error(error);
  $("failed-why").textContent = String(error);
  $("failed").hidden = false;
  $("restart").focus();
}

export const on = (target, type, step, options) =>
  target.addEventListener(type, (event) => guard(() => step(event)), options);

const settings = ":is(input, select)[name]";
const isBox = (it) => it.matches("input[name]") && !["checkbox", "range"].includes(it.type);

/** For each box, the value that was in force when the box was last written or checked. */
let known = new WeakMap();

/** The settings that the controls show, and whether they show that time stands still. */
let synced, stopped;

/** Shows the settings in force in the controls. */
function sync() {
  synced = page.fragment();
  undo.follow(values());
  fit();
  own.shown();
  if (own.runs) takeAlong();
  for (const it of document.querySelectorAll(settings)) show(it);
  stopped = page.paused();
  if (!own.runs) return;
  $("pause").classList.toggle("on", stopped);
  $("pause").textContent = stopped ? "Run" : "Pause";
}

/** Gives the canvas the height that the view wants, if it wants one; the rest of the screen may be used. */
function fit() {
  const height = page.height(document.documentElement.clientHeight - graph.getBoundingClientRect().top - scrollY);
  if (!height) return;
  graph.style.height = `${height}px`;
  // On paper the shape of the bitmap counts, which was never on a screen if the page is opened for print.
  if (matchMedia("print").matches && Math.abs(graph.clientHeight - height) > 2) graph.height = Math.round(graph.width * height / graph.clientWidth);
  // What lies over it is placed in parts of it: it may be scaled, as on paper.
  graph.parentElement.style.setProperty("--height", height);
  graph.parentElement.style.setProperty("--width", graph.width / devicePixelRatio);
  graph.parentElement.style.setProperty("--pitch", page.pitch());
}

/** The settings of the view, of which each has a control but the lanes together. */
const names = [...new Set([...document.querySelectorAll(settings)].map((it) => it.name)), "lanes"];
const values = () => Object.fromEntries(names.map((name) => [name, page.get(name)]));

/** The settings that Scope and Compare both know, and the values of all before any is set. */
const shared = ["limit", "decay", "auto", "pattern", "auto-rate", "seed", "speed", "window"];
let defaults;

/** Adds the settings that were changed to the links to the other view. */
function takeAlong() {
  const is = Object.fromEntries(shared.map((name) => [name, page.get(name)]));
  const changed = shared.filter((name) => is[name] !== defaults[name]);
  const limited = changed.includes("limit") || changed.includes("decay");
  const given = changed.filter((name) => !["limit", "decay"].includes(name)).map((name) => [name, is[name]]);
  if (limited && is.limit !== "0") {
    // There a rate, here its two parts.
    if (is.decay) given.push(["limit", `${is.limit}/${is.decay}`]);
    else given.push(...is.limit.split("/").map((part, i) => [["limit", "decay"][i], part]));
  }
  const text = given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  for (const link of document.querySelectorAll("nav a[data-along]")) link.hash = text;
}

/**
 * Shows a setting in its control. A box that is being typed in, or is wrong, stays as it is, unless
 * its setting was changed elsewhere.
 */
function show(it) {
  const value = page.get(it.name);
  if (isBox(it)) {
    const busy = it === document.activeElement || it.ariaInvalid === "true";
    if (!busy || known.get(it) !== value) put(it);
  } else if (it.type === "checkbox") {
    it.checked = value === "on";
  } else if (it.type === "range") {
    it.value = page.slider(it.name);
    it.ariaValueText = `${value} ${it.dataset.unit}`;
  } else {
    // A link may have chosen from outside the list.
    if (![...it.options].some((option) => option.value === value)) it.add(new Option(value));
    it.value = value;
  }
}

/** Puts the value in force in a box, whatever it has. */
function put(box) {
  box.value = page.get(box.name);
  wrong(box, "");
}

/** Says what is wrong with a box; nothing, mostly. */
export function wrong(box, error) {
  known.set(box, page.get(box.name));
  box.ariaInvalid = String(error !== "");
  box.closest(".field, .lane, .add").querySelector(".error").textContent = error;
}

/** The controls show what was done, and the address keeps it. */
export function changed() {
  undo.note(values(), performance.now());
  sync();
  // Not too often: browsers refuse that.
  clearTimeout(due);
  due = setTimeout(() => guard(() => history.replaceState(null, "", `#${page.fragment() || "at=60"}`)), 300);
}

/** When to write the address next. */
let due;

/** Begins the run that the address describes, or has a minute to look at. */
function open(end = still.matches) {
  clearTimeout(due);
  if (own.runs) {
    story.begin(page, location.hash, end);
    if (!location.hash) defaults = values();
    const used = (it) => page.get(it.name) !== defaults[it.name];
    if ($("more") && [...$("more").querySelectorAll(settings)].some(used)) $("more").open = true;
    undo.forget();
  } else page.open(location.hash.slice(1));
  known = new WeakMap();
  for (const box of document.querySelectorAll('[aria-invalid="true"]')) wrong(box, "");
  sync();
}

/** Errors that wait until typing rests, by their boxes. */
const waiting = new Map();

/** Says what is wrong with a box whose error still waits. */
function say(box) {
  if (!waiting.has(box)) return;
  const [error, timer] = waiting.get(box);
  clearTimeout(timer);
  waiting.delete(box);
  wrong(box, error);
}

/** A box was typed in: what is right is in force, what is wrong is told when typing rests. */
function typed(box) {
  const error = page.set(box.name, box.value);
  clearTimeout(waiting.get(box)?.[1]);
  waiting.delete(box);
  known.set(box, page.get(box.name));
  if (error) waiting.set(box, [error, setTimeout(() => guard(() => say(box)), 800)]);
  else wrong(box, "");
}

function wireSettings() {
  const boxes = (name) => [...document.getElementsByName(name)].filter(isBox);
  const nudge = (name, by) => { page.nudge(name, by); boxes(name).forEach(put); changed(); };
  on(document, "input", ({ target: it }) => {
    if (!it.matches(settings)) return;
    if (isBox(it)) {
      typed(it);
    } else if (it.type === "range") {
      page.slide(it.name, it.valueAsNumber);
      boxes(it.name).forEach(put);
    } else {
      page.set(it.name, it.type !== "checkbox" ? it.value : it.checked ? "on" : "off");
    }
    changed();
  });
  on(document, "change", ({ target: it }) => say(it));
  on(document, "focusout", ({ target: it }) => { say(it); if (isBox(it) && it.ariaInvalid !== "true") put(it); });
  on(document, "keydown", (event) => {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!by || !isBox(event.target) || event.target.hasAttribute("data-text")) return;
    event.preventDefault();
    nudge(event.target.name, by);
  });
  on(document, "click", ({ target: { dataset: { step, by, does, goes, copies } } }) => {
    if (step) nudge(step, Number(by));
    if (does === "reset" && story.isTold()) story.replay(open);
    else if (does) { page[does](); changed(); }
    if (goes) $(goes).focus();
    if (copies) copy($(copies));
  });
  on(document, "submit", (event) => event.preventDefault());
}

/** A log that is dropped here belongs to Tune; the browser would leave the page for it. */
function wireDrop() {
  on(document, "dragover", (event) => event.preventDefault());
  on(document, "drop", async (event) => {
    event.preventDefault();
    const { files } = event.dataTransfer;
    const text = event.dataTransfer.getData("text");
    const { dropped, hand } = await import("./hand.js");
    const logs = dropped({ files, text });
    if (logs.length === 0) return;
    await hand(logs).catch(() => { $("note").textContent = "Open Tune, and drop the log there."; });
  });
}

/** Copies the text of an element, or selects it; its button says so. */
function copy(it) {
  const button = document.querySelector(`[data-copies="${it.id}"]`);
  navigator.clipboard.writeText(it.textContent).then(
    () => tells(button, "Copied"),
    () => { getSelection().selectAllChildren(it); tells(button, "Selected"); },
  );
}

/** Has a button say something else for two seconds. */
function tells(button, text) {
  button.dataset.text ??= button.textContent;
  button.textContent = text;
  setTimeout(() => { button.textContent = button.dataset.text; }, 2000);
}

/** A further picture of a view, on a canvas whose id is what those of its texts begin with. */
export function join(canvas, view) {
  const other = new Page(canvas, view);
  others.push([other, `${canvas.id}-`]);
  wireCanvas(canvas, other, { on, guard, changed() {}, key, fit });
  dress(pages());
  return other;
}

function wireGraph() {
  wireCanvas(graph, page, { on, guard, changed, key, fit });
  on(window, "resize", fit);
  // Space is an event wherever nothing else has the keys, as long as one sees it; otherwise it scrolls.
  on(document, "keydown", (event) => {
    const { top, bottom } = graph.getBoundingClientRect();
    const isSeen = top < innerHeight && bottom > 0;
    if (event.target === document.body && event.key === " " && isSeen) key(event, page, changed);
  });
  if ($("live")) on($("live"), "click", () => { page.live(); graph.focus(); });
}

/** A key on a picture. */
function key(event, page, changed) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  // A key that is held is one event.
  if (event.repeat && event.key === " ") return event.preventDefault();
  if (event.key.toLowerCase() === "r" && story.isTold()) story.replay(open);
  else if (page.key(event.key, event.shiftKey, event.timeStamp)) { event.preventDefault(); changed(); }
}

function wireLinks() {
  if (own.runs) story.wire(page, on, open);
  const follow = ({ newURL }) => {
    // The address of the settings may have been written after it.
    if (newURL) history.replaceState(null, "", newURL);
    open();
    // The sentence sticks to the screen, so its own place would not tell.
    if (story.isTold()) graph.closest(".stage").scrollIntoView({ block: "start" });
    else graph.scrollIntoView({ block: "nearest" });
  };
  on(window, "hashchange", follow);
  // A scenario that is in the address already begins again, too.
  for (const link of document.querySelectorAll(".try a")) {
    on(link, "click", () => { if (link.hash === location.hash) follow({}); });
  }
  on($("copy"), "click", async () => {
    const url = new URL(location.href);
    url.hash = page.recording();
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(url.href);
    } catch {
      clearTimeout(due);
      history.replaceState(null, "", url);
      said = "It is in the address";
    }
    tells($("copy"), said);
  });
}

/** Shows what the view says beside its picture: of each text the id, the text, and its number or nothing. */
export function tell(said, before = "") {
  for (let i = 0; i < said.length; i += 3) {
    const [it, text, value] = [$(before + said[i]), said[i + 1], said[i + 2]];
    if (it.textContent !== text) it.textContent = text;
    if (value) it.dataset.value = value;
  }
}

/** Runs a frame whenever the browser draws. */
function animate() {
  let next;
  const frame = (now) => {
    next = requestAnimationFrame(frame);
    guard(() => {
      const said = page.frame(now);
      if (said.length === 0) return;
      if (page.fragment() !== synced || page.paused() !== stopped) sync();
      tell(said);
      if (own.runs) $("live").hidden = page.is_live();
      $("note").classList.toggle("wrong", page.has_problem());
    });
    for (const [other, before] of others) guard(() => tell(other.frame(now), before));
    if (failed) cancelAnimationFrame(next);
  };
  on(document, "visibilitychange", () => {
    cancelAnimationFrame(next);
    if (document.visibilityState === "hidden") page.hide();
    else next = requestAnimationFrame(frame);
  });
  next = requestAnimationFrame(frame);
}
