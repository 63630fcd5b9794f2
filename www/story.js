// The story at the graph: the sentence of the scenario in force, beside the picture that it is about.
//
// A scenario is a link of the list .try. Its fragment is the run as it is at the end; data-from is the
// second from which it is worth watching, data-plays the seconds that this takes the viewer, and data-flags are the
// seconds that the sentence names. The one with data-opens is told when the address names no run. Its sentence has
// the same place in .sentences, where .told is the one that is seen.
const $ = (id) => document.getElementById(id);
const links = () => [...document.querySelectorAll(".try a")];
const sentence = () => document.querySelectorAll(".sentences > p")[links().indexOf(told)];

/** How long a scenario plays, in seconds of the viewer, if it does not say. */
const PLAYS = 15;

/** The scenario in force, if there is one. */
let told;

/** Whether a scenario is in force. */
export const isTold = () => told !== undefined;

/** The link of the scenario in force, while the address has it or none: the viewer's changes are written there. */
export const unchanged = () => (told && [told.hash, ""].includes(location.hash) ? told : undefined);

/**
 * Begins the run that the address describes, or without one that of data-opens. If that is a scenario, its sentence
 * is shown, and it is played unless its `end` is wanted.
 */
export function begin(page, hash, end) {
  told = links().find((link) => (hash ? link.hash === hash : link.dataset.opens !== undefined));
  const fragment = (told?.hash ?? hash).slice(1) || ($("graph").dataset.opens ?? "");
  const { from, plays = PLAYS } = told?.dataset ?? {};
  if (from && !end) page.play(fragment, Number(from), Number(plays));
  else if (from) page.skip(fragment);
  else page.open(fragment);
  page.flag(told?.dataset.flags?.split(" ").map(Number) ?? []);
  delete document.documentElement.dataset.linked;
  tell();
}

/** Shows the sentence of the scenario in force, and which link is its. */
function tell() {
  for (const link of links()) link.ariaCurrent = link === told ? "true" : null;
  document.querySelector(".told")?.classList.remove("told");
  sentence()?.classList.add("told");
  $("story").hidden = !told;
  mark(false);
}

/** Shows the sentence, or that the viewer has changed the run that it is about. */
export function mark(isChanged) {
  const changed = isChanged && told ? `${told.textContent}, but changed since.` : "";
  $("story")?.classList.toggle("changed", changed !== "");
  if ($("story-changed")) $("story-changed").textContent = changed;
  say(changed || (told ? `${told.textContent}.${sentence().lastChild.textContent}` : ""));
}

/** Tells a screen reader. */
function say(text) {
  const said = $("story-said");
  if (said && said.textContent !== text) said.textContent = text;
}

/**
 * Wires the buttons: `again(end)` begins the run in the address, or goes to its end; `back()` returns to the run before,
 * if any.
 */
export function wire(page, on, again, back) {
  const go = (by) => { location.hash = links().at((links().indexOf(told) + by) % links().length).hash; };
  on($("story-before"), "click", () => go(-1));
  on($("story-after"), "click", () => go(1));
  on($("story-replay"), "click", () => replay(again, false));
  on($("story-end"), "click", () => replay(again, true));
  const close = () => {
    const chip = told;
    if (!back()) {
      told = undefined;
      page.flag([]);
      tell();
    }
    // In a list that is closed, the button that opens it.
    (chip.checkVisibility() ? chip : $("list")).focus({ preventScroll: true });
  };
  on($("story-close"), "click", close);
  // On the graph the key returns to live.
  on(document, "keydown", ({ key, target }) => {
    if (key === "Escape" && told && ($("story").contains(target) || target.closest(".try"))) close();
  });
}

/** Shows the scenario in force from its beginning, or its end, without the changes since. */
export function replay(again, end) {
  history.replaceState(null, "", told.hash);
  again(end);
}
