// The page: loads the module, tells it what happens, and shows what it says. The measurements, pictures and texts are
// up to the view, which the canvas names with data-view.
//
// An input or select with a name is the setting of that name; [data-step] moves a setting by [data-by], and
// [data-does] calls a method of the page; [data-goes] gives an element the focus, [data-copies] copies the
// text of one. An error in a setting stands in the .error beside it. Settings that are rarely needed
// are in #more, which opens if a link has one of them.
import { scale, wireCanvas } from "./canvas.js";
import * as story from "./story.js";
import * as undo from "./undo.js";
import { wireKeys } from "./keys.js";
import { dress, still, wireTheme } from "./theme.js";

export const $ = (id) => document.getElementById(id);
const graph = $("graph");

/** Whether the page is a picture in a frame of another one. */
const isFramed = "framed" in document.documentElement.dataset;

/** The module's class for a picture. */
let Page;

/** The view, once its module is loaded. */
export let page;

/** Further pictures on the page: each a Page, and its canvas, whose id begins the ids of its texts. */
const others = [];

/** All pictures. */
const pages = () => [page, ...others.map(([other]) => other)];

/**
 * The view's own part: `wire` runs once it is loaded, and may go on after the start; `shown` after settings changed,
 * `drawn` after each frame; time passes if `runs`. With `begins` the address is the view's own matter, and this begins
 * the run that it describes, or shows its end. `replays` takes a reset; it returns whether it has begun something
 * again.
 */
let own;

/**
 * Starts the page with the script of its WebAssembly module. `picture` is the picture that gets the events of keys, if it
 * is not always the view's.
 */
export function start(module, { wire = () => {}, shown = () => {}, drawn = () => {}, runs = true, begins, picture, replays } = {}) {
  own = { wire, shown, drawn, runs: runs && !begins, begins, replays, picture: picture ?? (runs ? () => page : undefined) };
  guard(async () => {
    await module.default();
    Page = module.Page;
    page = new Page(graph, graph.dataset.view);
    plain = defaults = values();
    wireSettings();
    const wired = own.wire();
    wireGraph();
    wireKeys(graph, on);
    wireTheme(on, pages);
    if (!own.begins) wireLinks();
    if (own.runs) wirePicture();
    if (own.runs) undo.wire(on, { set: (name, value) => page.set(name, value), changed, begin });
    if (!isFramed && (own.runs || own.begins)) wireDrop(handOver);
    open();
    animate();
    document.documentElement.dataset.started = "";
    // Lets the page start without a network, too. That loads every file of the site, so the first picture comes
    // before. If the browser refuses it, everything else still works.
    if (!isFramed) setTimeout(() => navigator.serviceWorker?.register("offline.js").catch(() => {}), 1000);
    return wired;
  });
}

let failed = false;

/** Runs a step; an error in it, now or later, stops the page. */
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

/** The fragment of the settings that the controls show, and whether they show that time stands still. */
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

/** Gives the canvas the height that the view wants, if any; there is room down to the foot of the screen, or of the frame. */
function fit() {
  const larger = scale(graph);
  const scrolled = document.fullscreenElement ? 0 : scrollY;
  const room = document.documentElement.clientHeight - graph.getBoundingClientRect().top - scrolled;
  const height = page.height(isFramed ? graph.parentElement.clientHeight : room / larger);
  if (!height) return;
  graph.style.height = `${height * larger}px`;
  // On paper the shape of the bitmap counts; if the page was opened only to print, no screen has given it
  // one.
  if (matchMedia("print").matches && Math.abs(graph.clientHeight - height) > 2) graph.height = Math.round(graph.width * height / graph.clientWidth);
  // The controls over the canvas are placed in parts of its size, since it may be scaled, as on paper.
  graph.parentElement.style.setProperty("--height", height);
  graph.parentElement.style.setProperty("--width", graph.width / devicePixelRatio);
  graph.parentElement.style.setProperty("--pitch", page.pitch());
}

/** The names of the view's settings: those that have a control, and `lanes`, which has none. */
const names = [...new Set([...document.querySelectorAll(settings)].map((it) => it.name)), "lanes"];
const values = () => Object.fromEntries(names.map((name) => [name, page.get(name)]));

/** The values of all settings in a link that names none, and before the viewer changes any: the opening run has its own. */
let plain, defaults;

/** Adds the settings that were changed, of those that Scope and Compare share, to the links to the other view. */
function takeAlong() {
  const shared = ["limit", "decay", "auto", "pattern", "auto-rate", "seed", "speed", "window"];
  const is = Object.fromEntries(shared.map((name) => [name, page.get(name)]));
  const changed = shared.filter((name) => is[name] !== defaults[name]);
  const limited = changed.includes("limit") || changed.includes("decay");
  const given = changed.filter((name) => !["limit", "decay"].includes(name)).map((name) => [name, is[name]]);
  if (limited && is.limit !== "0") {
    // The limit of Compare is a rate; the Scope has its two parts, limit and decay.
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
    // A link may have a value that is not in the list.
    if (![...it.options].some((option) => option.value === value)) it.add(new Option(value));
    it.value = value;
  }
}

/** Puts the value in force in a box, whatever is written there. */
function put(box) {
  box.value = page.get(box.name);
  wrong(box, "");
}

/** Shows what is wrong with a box; an empty text takes the message away. */
export function wrong(box, error) {
  known.set(box, page.get(box.name));
  box.ariaInvalid = String(error !== "");
  box.closest(":has(> .error)").querySelector(":scope > .error").textContent = error;
}

/** Brings the controls up to date after an action, and a little later the address. */
export function changed() {
  undo.note(values(), performance.now());
  // The sentence still fits a run that is only seen in another way.
  const seen = ["speed", "window", "exact", "ghost", "bucket", "mean", "last", "recent", "rate-2009", "memory"];
  story.mark(undo.names().some((name) => !seen.includes(name)));
  sync();
  if (own.begins) return;
  // The address is written with a delay, since browsers refuse to change it too often.
  clearTimeout(due);
  due = setTimeout(() => guard(() => history.replaceState(history.state, "", `#${page.fragment() || (own.runs ? "at=60" : "")}`)), 300);
}

/** The timer that writes the address. */
let due;

/** A link to the run. */
const run = () => story.unchanged()?.hash ?? `#${page.recording()}`;

/** Begins the run of a link. */
function begin(link) {
  history.replaceState(history.state, "", link);
  open();
}

/** Begins the run that the address describes, or the opening one; `end` shows a scenario at its end. */
export function open(end = still.matches) {
  clearTimeout(due);
  if (own.runs) {
    story.begin(page, location.hash, end);
    if (!location.hash) defaults = values();
    const isSeldom = ({ name }) => [...document.getElementsByName(name)].every((it) => it.closest("#more"));
    const used = (it) => isSeldom(it) && ![plain[it.name], defaults[it.name]].includes(page.get(it.name));
    if ($("more") && [...$("more").querySelectorAll(settings)].some(used)) $("more").open = true;
  } else if (own.begins) own.begins(end);
  else page.open(location.hash.slice(1));
  undo.forget();
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

/** Takes a text typed in a box: a right value is in force at once, a wrong one is told when typing rests. */
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
    } else if (it.selectedOptions?.[0].dataset.goes) {
      // There are more values than a list has.
      const box = $(it.selectedOptions[0].dataset.goes);
      const more = box.closest("details");
      if (more) more.open = true;
      box.focus();
      box.select();
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
  on(document, "click", ({ target }) => {
    const { step, by, does, goes, copies } = target.dataset;
    if (step) nudge(step, Number(by));
    if (does === "reset" && replayed()) return undefined;
    if (does) { page[does](); changed(); }
    if (goes) $(goes).focus();
    return copies && copyText($(copies), target);
  });
  on(document, "submit", (event) => { if (event.target.method !== "dialog") event.preventDefault(); });
}

/**
 * Gives `take` the files and the text that are dropped here; the browser itself would leave the page to show them. A
 * link or a selection that is dragged within the page is not taken.
 */
export function wireDrop(take) {
  let isOurs = false;
  on(document, "dragstart", () => { isOurs = true; });
  // No pointer moves during a drag; a text that was replaced meanwhile has no dragend.
  for (const type of ["dragend", "pointermove"]) on(document, type, () => { isOurs = false; });
  on(document, "dragover", (event) => { if (!isOurs) event.preventDefault(); });
  on(document, "drop", (event) => {
    if (isOurs) return undefined;
    event.preventDefault();
    return take({ files: event.dataTransfer.files, text: event.dataTransfer.getData("text") });
  });
}

/** Hands a log that was dropped to Tune. */
async function handOver(given) {
  const { dropped, hand } = await import("./hand.js");
  const logs = dropped(given);
  if (logs.length > 0) await hand(logs).catch(() => page.warn("Open Tune, and drop the log there."));
}

/** Copies the text of an element, or selects it if that is refused; the button says which. */
export async function copyText(it, button) {
  const isCopied = await toClipboard(it.textContent);
  if (!isCopied) getSelection().selectAllChildren(it);
  tells(button, isCopied ? "Copied" : "Selected");
}

/** Whether the clipboard took a text; without TLS a browser has no clipboard at all. */
const toClipboard = async (text) => navigator.clipboard?.writeText(text).then(() => true, () => false);

/** Changes the text of a button for two seconds. */
function tells(button, text) {
  button.dataset.text ??= button.textContent;
  button.textContent = text;
  setTimeout(() => { button.textContent = button.dataset.text; }, 2000);
}

/** Adds a picture of a view, on a canvas whose id begins the ids of its texts. Returns its Page. */
export function join(canvas, view) {
  const other = new Page(canvas, view);
  others.push([other, canvas]);
  wireCanvas(canvas, other, { on, guard, changed() {}, key, fit });
  dress(pages());
  return other;
}

function wireGraph() {
  wireCanvas(graph, page, { on, guard, changed, key, fit });
  on(window, "resize", fit);
  wireSpace();
  if ($("add-event")) on($("add-event"), "click", ({ timeStamp }) => { own.picture().key(" ", false, timeStamp); changed(); });
  if ($("live")) on($("live"), "click", () => { page.live(); graph.focus(); });
}

/**
 * Space is an event while the picture is in sight, except where somebody writes, and on a control that somebody came to
 * by keys: there it is the key of the control.
 */
function wireSpace() {
  let isByKeys = false;
  on(document, "pointerdown", () => { isByKeys = false; }, { capture: true });
  const takes = ({ target, key }) => {
    if (key === "Tab") isByKeys = true;
    if (key !== " " || !own.picture || target.matches("canvas")) return false;
    const { top, bottom } = (document.querySelector("canvas:not([hidden])") ?? graph).getBoundingClientRect();
    const writes = target.matches("input:not([type=checkbox], [type=range]), select, textarea") || target.closest("dialog[open], [popover]");
    const isControl = isByKeys && target.matches("button, input, summary");
    return top < innerHeight && bottom > 0 && !writes && !isControl;
  };
  on(document, "keydown", (event) => {
    if (takes(event)) key(event, own.picture(), changed);
  }, { capture: true });
  // Some browsers press a button when the key goes up.
  on(document, "keyup", (event) => { if (takes(event)) event.preventDefault(); }, { capture: true });
}

/** Begins a scenario, or anything else that the view plays, again; returns whether there is one. */
function replayed() {
  if (own.replays?.()) return true;
  if (story.isTold()) story.replay(open);
  return story.isTold();
}

/** Takes a key on a picture. */
function key(event, page, changed) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  // Space makes one event, however long it is held.
  if (event.repeat && event.key === " ") return event.preventDefault();
  if (event.key.toLowerCase() === "r" && replayed()) return undefined;
  if (page.key(event.key, event.shiftKey, event.timeStamp)) { event.preventDefault(); changed(); }
}

/** Hands a text, or bytes, to the browser as a file. */
export function save(name, type, data) {
  const url = URL.createObjectURL(new Blob([data], { type }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Wires the buttons by which one takes the picture away. */
function wirePicture() {
  if ($("configure")) {
    on($("configure"), "click", () => configure("The limiter", "limiter"));
    takesConfigurations($("limiter"), () => "The limiter");
  }
  if (!$("copy-picture")) return;
  const name = `ratescope-${graph.dataset.view}`;
  on($("copy-picture"), "click", async () => {
    const { copyPicture } = await import("./picture.js");
    tells($("copy-picture"), await copyPicture(page.svg(), `${name}.png`));
  });
  on($("save-svg"), "click", () => save(`${name}.svg`, "image/svg+xml", page.svg()));
  if ($("record") && graph.captureStream && globalThis.MediaRecorder?.isTypeSupported("video/webm")) {
    $("record").hidden = false;
    on($("record"), "click", async () => {
      const { record } = await import("./picture.js");
      await record(graph, $("record"), `${name}.webm`).catch(() => page.warn("This browser can’t record the picture."));
    });
  }
  if ($("sound")) {
    on($("sound"), "click", async () => {
      const { toggle } = await import("./sound.js");
      $("sound").ariaPressed = String(toggle());
    });
  }
  on($("copy-embed"), "click", async () => {
    const { copyFrame } = await import("./picture.js");
    const told = story.unchanged();
    const hash = told?.hash ?? page.recording();
    tells($("copy-embed"), await copyFrame(graph.dataset.view, hash, told?.textContent ?? document.title));
  });
}

/** Shows a limiter, of the setting `name`, as the lines of a server; from a text that was pasted it takes a limit. */
export async function configure(title, name, pasted) {
  const take = (limiter) => {
    const problem = page.set(name, limiter);
    changed();
    return problem;
  };
  const { open } = await import("./configuration.js");
  await open(title, page.policy(name), take, pasted);
}

/** Has the box of a limiter take a configuration of several lines that is pasted into it. */
export function takesConfigurations(box, title) {
  on(box, "paste", (event) => {
    const text = event.clipboardData.getData("text");
    if (!text.trim().includes("\n")) return undefined;
    event.preventDefault();
    return configure(title(), box.name, text);
  });
}

function wireLinks() {
  if (own.runs) story.wire(page, on, open, () => undo.back());
  const follow = ({ newURL }) => {
    // The run before all scenarios.
    const before = own.runs && ((story.isTold() && undo.runBefore()) || run());
    // The timer may have written the address of the settings after it.
    if (newURL) history.replaceState(history.state, "", newURL);
    open();
    if (own.runs && story.isTold()) undo.came(before, location.hash);
    // Nothing moves while the picture, or 200 pixels of it, is in sight.
    const { top, bottom } = graph.getBoundingClientRect();
    if (top < 0 || Math.min(bottom, top + 200) > innerHeight) graph.closest(".stage")?.scrollIntoView({ block: "start" });
  };
  on(window, "hashchange", follow);
  // A scenario that is already in the address begins again, although the address does not change.
  for (const link of document.querySelectorAll(".try a")) {
    on(link, "click", () => { if (link.hash === location.hash) follow({}); });
  }
  on($("copy"), "click", async () => {
    const url = new URL(location.href);
    url.hash = page.recording();
    const isCopied = await toClipboard(url.href);
    if (!isCopied) {
      clearTimeout(due);
      history.replaceState(null, "", url);
    }
    tells($("copy"), isCopied ? "Copied" : "It is in the address");
  });
}

/**
 * Shows the texts of a view, three for each: its element's id, the text, and its number or an empty text. A page need
 * not have all of them.
 */
export function tell(said, before = "") {
  for (let i = 0; i < said.length; i += 3) {
    const [it, text, value] = [$(before + said[i]), said[i + 1], said[i + 2]];
    if (!it) continue;
    if (it.textContent !== text) it.textContent = text;
    if (value) it.dataset.value = value;
  }
}

/** Runs a frame whenever the browser draws, while the page is seen. */
function animate() {
  let next;
  let isInSight = true;
  const frame = (now) => {
    next = requestAnimationFrame(frame);
    guard(() => {
      if (graph.hidden) return;
      const said = page.frame(now);
      if (said.length === 0) return;
      // A limit that is dragged is changed by the viewer; later changes by a link are not.
      if (page.fragment() !== synced || page.paused() !== stopped) (page.holds_limit() ? changed : sync)();
      tell(said);
      if (own.runs) $("live").hidden = page.is_live();
      $("note").classList.toggle("wrong", page.has_problem());
    });
    for (const [other, canvas] of others) {
      if (!canvas.hidden) guard(() => tell(other.frame(now), `${canvas.id}-`));
    }
    guard(own.drawn);
    if (failed) cancelAnimationFrame(next);
  };
  const look = () => {
    cancelAnimationFrame(next);
    if (document.visibilityState !== "hidden" && isInSight) next = requestAnimationFrame(frame);
    else if (isFramed) page.rest();
    else for (const page of pages()) page.hide();
  };
  on(document, "visibilitychange", look);
  next = requestAnimationFrame(frame);
  if (!isFramed) return;
  // The caption takes as much of the frame as it needs.
  new ResizeObserver(() => guard(fit)).observe(graph.parentElement);
  // A run waits until somebody has scrolled to its frame.
  new IntersectionObserver((entries) => guard(() => {
    isInSight = entries.at(-1).isIntersecting;
    look();
  })).observe(graph.parentElement);
}
