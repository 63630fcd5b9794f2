// One picture with its caption, to be framed by other pages. The fragment is that of a link to the Scope or, with
// ?view=compare, to Compare. ?theme=light and ?theme=dark ask for a theme: see watch.js.
//
// The scenarios, the run with which it opens, and the description of the canvas for a screen reader are those of the
// page that Open leads to.
import * as module from "./pkg/ratescope_page.js";
import { $, on, open, page, start } from "./page.js";
import * as story from "./story.js";

const isCompare = new URLSearchParams(location.search).get("view") === "compare";
const file = isCompare ? "compare.html" : "index.html";
const graph = $("graph");

const response = await fetch(file);
if (!response.ok) throw new Error(`${file} did not load.`);
const whole = new DOMParser().parseFromString(await response.text(), "text/html");
const { ariaLabel, dataset: { opens } } = whole.getElementById("graph");
graph.ariaLabel = ariaLabel;
Object.assign(graph.dataset, { view: isCompare ? "framed-lanes" : "figure", opens: opens ?? "" });
document.querySelector(".try").append(...whole.querySelectorAll(".try a"));
$("story").prepend(...whole.querySelectorAll(".sentences > p:not([id])"));

function wire() {
  on(window, "hashchange", () => open());
}

/** Begins the run that the address describes; `end` shows a scenario at its end. */
function begins(end) {
  story.begin(page, location.hash, end);
  $("caption").hidden = story.isTold();
  $("open").href = file + location.hash;
}

/** The caption comes with the first picture, when it is known how much room it needs. */
function drawn() {
  document.querySelector(".caption").hidden = false;
}

start(module, { wire, begins, drawn });
