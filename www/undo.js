// Takes changes of settings back, one after the other: a lane that was removed is there again.
const button = document.getElementById("undo");

/** Changes of one setting in less time than this, in milliseconds, are one: those of a drag. */
const ONE = 1000;

/** The settings before each change. */
const before = [];

/** The settings in force, and what was changed last, and when. */
let now, what, when;

const differs = (a, b) => Object.keys(b).filter((name) => a[name] !== b[name]).join();
const show = () => { if (button) button.disabled = before.length === 0; };

/** Settings that were changed otherwise, as by a link, are nothing to take back. */
export function follow(values) {
  now = values;
}

/** The viewer changed something, perhaps a setting. */
export function note(values, at) {
  const names = now ? differs(now, values) : "";
  if (!names) return;
  if (names !== what || at - when > ONE) before.push(now);
  [now, what, when] = [values, names, at];
  show();
}

/** Another run begins. */
export function forget() {
  before.length = 0;
  what = undefined;
  show();
}

/** Wires the button and the keys: `set` gives a setting a value. */
export function wire(on, set, changed) {
  if (!button) return;
  const undo = () => {
    const values = before.pop();
    if (!values) return;
    for (const name of Object.keys(values)) if (values[name] !== now[name]) set(name, values[name]);
    now = values;
    what = undefined;
    changed();
    show();
  };
  on(button, "click", undo);
  // In a box that is being written in, the keys are the browser's.
  let written;
  on(document, "input", ({ target }) => { written = target; });
  on(document, "focusin", () => { written = undefined; });
  on(document, "keydown", (event) => {
    if (event.key !== "z" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    if (event.target === written || before.length === 0) return;
    event.preventDefault();
    undo();
  });
}
