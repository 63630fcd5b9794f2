// The story: steps of prose beside one picture, which shows the run of the step that is read.
//
// A step has a link a.open. Its fragment is the run as it is at the end, and its page says whether that is a run of
// the Scope or of Compare. If the step has data-plays, the run is played from its second data-from within so many
// seconds of the viewer. data-flags are the seconds that its sentences with data-at name; a sentence is lit once the
// run has passed its flag. A button with data-set gives a setting of the run one value, and pressed again, that of
// data-unset. A step with data-waits begins with the run of that link, which waits for the reader. Blue is hidden, except in
// steps with data-blue. A part of a formula with data-term has its height in the graph while one points to it.
import * as module from "./pkg/ratescope_page.js";
import { $, join, on, page, start } from "./page.js";
import { still } from "./theme.js";

const steps = [...document.querySelectorAll(".step")];
const graph = $("graph");
const link = (step) => step.querySelector("a.open");

/** The run of each step, as its link has it at first. */
const runs = new Map(steps.map((step) => [step, link(step).hash.slice(1)]));

/** The picture of lanes; the Scope is `page`. */
let lanes;

/** Screens too low for a picture that stays in sight: each step has room for it, and it goes to the step that is read. */
const isLow = matchMedia("(width < 1200px) and (height < 500px)");

/** The width and height of a picture on paper, in CSS pixels. */
const PAPER = [680, 380];

/** The step that is read, its picture, and the step to which the page is scrolling. */
let step, picture, aim;

/** The timer that writes the address. */
let due;

/** Begins the run of the step that is read; `end` shows it at its end. */
function run(end = still.matches) {
  const { from, plays, waits, blue } = step.dataset;
  const isLanes = link(step).pathname.endsWith("compare.html");
  picture = isLanes ? lanes : page;
  [graph.hidden, $("note").hidden, $("lanes").hidden, $("lanes-note").hidden] = [isLanes, isLanes, !isLanes, !isLanes];
  page.show_blue(blue !== undefined);
  if (waits && !end) return picture.open(waits);
  if (plays && !end) picture.play(runs.get(step), Number(from), Number(plays));
  else picture.open(runs.get(step));
  return flag();
}

/** Marks the instants that the sentences of the step name. */
function flag() {
  picture.flag(step.dataset.flags?.split(" ").map(Number) ?? []);
}

const isMathematics = (it) => it.matches("#mathematics ~ *");

/** Puts the picture into the step that is read on a low screen, and else beside them all. */
function place() {
  const stage = document.querySelector(".stage");
  const [parent, next] = isLow.matches ? [step, step.firstChild] : [document.querySelector(".tale"), $("line")];
  if (stage.parentElement === parent) return;
  const focused = stage.contains(document.activeElement) && document.activeElement;
  parent.insertBefore(stage, next);
  if (focused) focused.focus({ preventScroll: true });
}

/** Makes a step the one that is read. */
function enter(it) {
  if (it === step) return;
  step?.classList.remove("read");
  step = it;
  step.classList.add("read");
  const part = steps.filter((it) => isMathematics(it) === isMathematics(step));
  $("place").textContent = `${isMathematics(step) ? "Maths " : ""}${part.indexOf(step) + 1} of ${part.length}`;
  $("title").textContent = step.querySelector("h2").firstChild.textContent.trim();
  for (const canvas of [graph, $("lanes")]) canvas.setAttribute("aria-describedby", `${step.id}-figure`);
  place();
  $("before").disabled = step === steps[0];
  $("after").disabled = step === steps.at(-1);
  // With a delay, since browsers refuse to change the address too often.
  clearTimeout(due);
  due = setTimeout(() => history.replaceState(null, "", step === steps[0] ? location.pathname : `#${step.id}`), 300);
  run();
}

/** Enters the step that crosses the line, which lies below the picture where that is above the prose. */
function look() {
  const line = $("line").getBoundingClientRect().top;
  const seen = steps.findLast((it) => it.getBoundingClientRect().top <= line) ?? steps[0];
  if (!aim || seen === aim) enter(seen);
}

/** Goes to the step that is `by` steps on; returns whether there is one. */
function go(by) {
  const to = steps[steps.indexOf(step) + by];
  if (!to) return false;
  // The steps between are not entered while the page scrolls past them.
  aim = to;
  to.scrollIntoView({ behavior: still.matches ? "auto" : "smooth", block: "start" });
  enter(to);
  return true;
}

/** Keys that go through the steps, as presenters' remotes send them; on the graph, arrows move the crosshair. */
function turn(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
  const by = { PageDown: 1, PageUp: -1, ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by || (event.key.startsWith("Arrow") && event.target !== document.body)) return;
  if (!go(by)) return;
  event.preventDefault();
  event.stopPropagation();
}

/** Points to a term of the formula, in the text and in the graph, or no longer. */
function point(term, is) {
  page.point_out(is ? term : "");
  for (const it of document.querySelectorAll("[data-term]")) it.classList.toggle("seen", is && it.dataset.term === term);
}

/** Shows the progress of the run: the sentences that its flags have passed, and the labels of the buttons. */
function drawn() {
  const passed = picture.passed();
  step.querySelectorAll("[data-at]").forEach((it, i) => it.classList.toggle("lit", i < passed));
  $("hold").textContent = picture.paused() ? "Run" : "Pause";
  for (const button of step.querySelectorAll("[data-set]")) {
    const [name, value] = button.dataset.set.split("=");
    button.ariaPressed = String(picture.get(name) === value);
  }
}

/** On paper each step has its picture, as it is at the end. */
function print() {
  const [now, kept] = [step, picture.recording()];
  for (const it of steps) {
    step = it;
    run(true);
    picture.resize(...PAPER, 1);
    picture.theme(false);
    const paper = new DOMParser().parseFromString(picture.svg(), "image/svg+xml").documentElement;
    it.querySelector(".paper")?.remove();
    it.querySelector(".figure").before(Object.assign(document.createElement("div"), { className: "paper" }));
    it.querySelector(".paper").append(paper);
  }
  step = now;
  run(true);
  picture.open(kept);
  flag();
  const { clientWidth, clientHeight } = picture === lanes ? $("lanes") : graph;
  picture.resize(clientWidth, clientHeight, devicePixelRatio);
}

function wire() {
  lanes = join($("lanes"), "framed-lanes");
  on(document, "keydown", turn, { capture: true });
  on($("before"), "click", () => go(-1));
  on($("after"), "click", () => go(1));
  on($("replay"), "click", () => run(false));
  on($("hold"), "click", () => picture.pause());
  on(document, "click", ({ target }) => {
    if (!target.dataset.set) return;
    const asked = target.ariaPressed === "true" ? target.dataset.unset : target.dataset.set;
    picture.set(...asked.split("="));
  });
  for (const [type, is] of [["pointerover", true], ["focusin", true], ["pointerout", false], ["focusout", false]]) {
    on(document, type, ({ target }) => {
      const it = target.closest?.("[data-term]");
      if (it) point(it.dataset.term, is);
    });
  }
  // The link to a step's run leads to where the run is now.
  for (const type of ["pointerdown", "focusin", "click"]) {
    on(document, type, ({ target }) => {
      if (target.matches?.("a.open") && step.contains(target)) target.hash = picture.recording();
    }, { capture: true });
  }
  on(isLow, "change", place);
  on(window, "beforeprint", print);
  for (const [target, type] of [[document, "scroll"], [window, "resize"]]) on(target, type, look, { passive: true });
  for (const type of ["scrollend", "wheel", "touchstart"]) on(document, type, () => { aim = undefined; }, { passive: true });
  on(document, "scrollend", look);
}

function begins() {
  const named = steps.find(({ id }) => `#${id}` === location.hash);
  if (named) enter(named);
  else look();
}

start(module, { wire, drawn, begins, picture: () => picture });
