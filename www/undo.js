// Takes changes of settings back, one after the other, and makes them again: for example, a lane that was removed
// returns, and before all of them the run before a scenario.
const button = document.getElementById("undo");

/** Changes of one setting in less time than this, in milliseconds, are one: those of a drag. */
const ONE = 1000;

/** The most changes that are kept. */
const MOST = 100;

/** For each change, the settings that it changed, with their values before it. */
const before = [];

/** For each change that was taken back, the settings that it changed, with their values after it. */
const after = [];

/**
 * The links of the run before a scenario and of the scenario: while it is in force, and after a return to the run before.
 */
let entered, left;

/** The settings in force, the names of those that were changed last, and when, in milliseconds. */
let now, what, when;

const differs = (a, b) => Object.keys(b).filter((name) => a[name] !== b[name]);
const show = () => { if (button) button.disabled = before.length === 0 && !entered; };

/** Takes settings that were not changed by the viewer, as by a link: that is not to be taken back. */
export function follow(values) {
  now = values;
}

/** Notes the settings after an action of the viewer at the time `at`, which may have changed some. */
export function note(values, at) {
  const names = now ? differs(now, values) : [];
  if (names.length === 0) return;
  if (names.join() !== what || at - when > ONE) before.push(Object.fromEntries(names.map((name) => [name, now[name]])));
  if (before.length > MOST) before.shift();
  after.length = 0;
  left = undefined;
  [now, what, when] = [values, names.join(), at];
  show();
}

/** The names of the settings that were changed, without those that were taken back. */
export const names = () => before.flatMap(Object.keys);

/** Forgets all changes, since another run begins. */
export function forget() {
  before.length = after.length = 0;
  what = entered = left = undefined;
  show();
}

/** Notes that a scenario follows on a run; both are links. */
export function came(run, scenario) {
  entered = { run, scenario };
  show();
}

/** The link of the run before the scenario, if there is one. */
export const runBefore = () => entered?.run;

/** Returns to the run before the scenario, if there is one. */
export let back = () => false;

/** Wires the button and the keys: `set` gives a setting a value, and `begin` begins the run of a link. */
export function wire(on, { set, changed, begin }) {
  if (!button) return;
  back = () => {
    const was = entered;
    if (was) begin(was.run);
    left = was;
    return Boolean(was);
  };
  const forth = () => {
    const { run, scenario } = left;
    begin(scenario);
    came(run, scenario);
  };
  // Undoing and redoing are no changes to undo.
  const move = (from, to) => {
    const values = from.pop();
    if (!values) return from === before ? back() : forth();
    to.push(Object.fromEntries(Object.keys(values).map((name) => [name, now[name]])));
    for (const [name, value] of Object.entries(values)) set(name, value);
    now = what = undefined;
    changed();
    show();
  };
  on(button, "click", () => move(before, after));
  // In a box that somebody writes in, the keys undo typing there, as the browser does it.
  let written;
  on(document, "input", ({ target }) => { written = target.matches("select, [type=checkbox], [type=range]") ? undefined : target; });
  on(document, "focusin", () => { written = undefined; });
  on(document, "keydown", (event) => {
    if (event.key.toLowerCase() !== "z" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    const [from, to] = event.shiftKey ? [after, before] : [before, after];
    if (event.target === written || (from.length === 0 && !(from === after ? left : entered))) return;
    event.preventDefault();
    move(from, to);
  });
}
