// What the views share: loading, controls, pointer and keys, theme, links, frames.
// What is measured, drawn and said is decided by the view, a class of the WebAssembly module.
export const $ = (id) => document.getElementById(id);
const graph = $("graph");

let failed = false;

/** Runs a step of the page; what goes wrong stops it with a message, and a trace in the console. */
export function guard(step) {
  if (failed) return undefined;
  try {
    return step();
  } catch (error) {
    failed = true;
    console.error(error);
    $("failed-why").textContent = String(error);
    $("failed").hidden = false;
    $("restart").focus();
    return undefined;
  }
}

export const on = (target, type, step, options) =>
  target.addEventListener(type, (event) => guard(() => step(event)), options);

/**
 * Starts a page: its module, view, ids of boxes, selects and ticks, each named as its setting, and
 * what else it shows when a setting changed and after a frame.
 */
export function start({ load, View, boxes, selects, ticks, wire = () => {}, shown = () => {}, drawn = () => {} }) {
  run().catch((error) => guard(() => { throw error; }));

  async function run() {
    $("restart").addEventListener("click", () => location.reload());
    await load();
    const page = new View(graph);
    const panel = controls(page);
    wire(page, panel.changed);
    wireGraph(page, panel.changed);
    wireTheme(page);
    wireLink(page, panel.open);
    panel.open();
    animate((now) => { if (page.frame(now)) panel.sync(); drawn(page, now); });
  }

  function controls(page) {
    /** The value in force when each box last had to do with it. */
    const known = {};

    /**
     * Shows the settings in force in the controls. A box that is being typed in, or is wrong, stays
     * as it is, unless its setting was changed elsewhere.
     */
    function sync() {
      for (const id of boxes) {
        const wrong = $(id).ariaInvalid === "true";
        const busy = wrong || document.activeElement === $(id);
        if (!busy || known[id] !== page.get(id)) show(id);
      }
      for (const id of selects) choose($(id), page.get(id));
      for (const id of ticks) $(id).checked = page.get(id) === "on";
      $("auto-rate-slider").value = page.slider();
      $("auto-rate-slider").ariaValueText = `${page.get("auto-rate")} a second`;
      $("pause").classList.toggle("on", page.paused());
      $("pause").textContent = page.paused() ? "Run" : "Pause";
      shown(page);
    }

    /** The controls show what was done, and the address keeps it. */
    function changed() {
      sync();
      remember();
    }

    function show(id) {
      $(id).value = page.get(id);
      mark(id, "");
    }

    function mark(id, error) {
      known[id] = page.get(id);
      $(`${id}-error`).textContent = error;
      $(id).ariaInvalid = String(error !== "");
    }

    function nudge(id, by) {
      page.nudge(id, by);
      show(id);
      changed();
    }

    /** Keeps the address up to date, not too often: browsers refuse that. */
    function remember() {
      clearTimeout(due);
      due = setTimeout(() => guard(() => history.replaceState(null, "", `#${page.fragment()}`)), 300);
    }

    function open() {
      clearTimeout(due);
      page.open(fragment());
      boxes.forEach(show);
      sync();
    }

    for (const id of boxes) {
      on($(id), "input", () => { mark(id, page.set(id, $(id).value)); changed(); });
      on($(id), "blur", () => { if ($(`${id}-error`).textContent === "") show(id); });
      on($(id), "keydown", (event) => {
        const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
        if (by === undefined || $(id).hasAttribute("data-text")) return;
        event.preventDefault();
        nudge(id, by);
      });
    }
    for (const id of selects) on($(id), "change", () => { page.set(id, $(id).value); changed(); });
    for (const id of ticks) on($(id), "change", () => { page.set(id, $(id).checked ? "on" : "off"); changed(); });
    for (const button of document.querySelectorAll("[data-step]")) {
      on(button, "click", () => nudge(button.dataset.step, Number(button.dataset.by)));
    }
    on($("auto-rate-slider"), "input", (event) => { page.slide(event.target.valueAsNumber); show("auto-rate"); changed(); });
    on($("pause"), "click", () => { page.pause(); changed(); });
    on($("step"), "click", () => { page.step(); changed(); });
    on($("reset"), "click", () => { page.reset(); changed(); });
    on($("live"), "click", () => { page.live(); graph.focus(); });
    on(document.querySelector("form"), "submit", (event) => event.preventDefault());
    return { sync, changed, open };
  }
}

/** When to write the address next. */
let due;

/** Selects `value`, which a link may have chosen from outside the list. */
function choose(select, value) {
  if (![...select.options].some((option) => option.value === value)) select.add(new Option(value));
  select.value = value;
}

/** Our part of the address, or a minute to look at; the view says what is wrong if it can't be decoded. */
function fragment() {
  const text = location.hash.slice(1) || "at=60";
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function wireGraph(page, changed) {
  const at = (event) => [event.offsetX, event.offsetY];
  const touch = (event) => event.pointerType !== "mouse";
  on(graph, "pointerdown", (event) => {
    if (event.button !== 0) return;
    graph.setPointerCapture(event.pointerId);
    page.press(...at(event), touch(event));
  });
  // A finger that moves upwards scrolls the page, but not when it holds the limit.
  on(graph, "touchstart", (event) => { if (page.holds_limit()) event.preventDefault(); }, { passive: false });
  on(graph, "pointermove", (event) => { graph.style.cursor = page.move_to(...at(event)); });
  on(graph, "pointerup", (event) => { page.release(event.timeStamp); if (touch(event)) page.leave(); changed(); });
  on(graph, "pointercancel", () => page.leave());
  on(graph, "pointerleave", () => page.leave());
  on(graph, "blur", () => page.leave());
  on(document, "keydown", (event) => {
    const here = event.target === graph || (event.target === document.body && event.key === " ");
    if (!here || event.ctrlKey || event.altKey || event.metaKey) return;
    if (page.key(event.key, event.shiftKey, event.timeStamp)) { event.preventDefault(); changed(); }
  });

  const resize = ({ contentRect: { width, height }, devicePixelContentBoxSize: boxes }) =>
    page.resize(width, height, devicePixelRatio, boxes && [boxes[0].inlineSize, boxes[0].blockSize]);
  const observer = new ResizeObserver(([entry]) => guard(() => resize(entry)));
  try {
    observer.observe(graph, { box: "device-pixel-content-box" });
  } catch {
    observer.observe(graph);
  }
  resize({ contentRect: { width: graph.clientWidth, height: graph.clientHeight } });
}

/** Uses the browser's store, if it grants one. */
function stored(use) {
  try {
    return use(localStorage);
  } catch {
    return null;
  }
}

function wireTheme(page) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const { dataset } = document.documentElement;
  const apply = () => {
    const dark = dataset.theme ? dataset.theme === "dark" : system.matches;
    $("theme").ariaPressed = String(dark);
    page.theme(dark);
  };
  const saved = stored((store) => store.getItem("theme"));
  if (saved) dataset.theme = saved;
  on(system, "change", apply);
  on($("theme"), "click", () => {
    const next = $("theme").ariaPressed === "true" ? "light" : "dark";
    dataset.theme = next;
    stored((store) => store.setItem("theme", next));
    apply();
  });
  apply();

  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const motion = () => page.reduce_motion(still.matches);
  on(still, "change", motion);
  motion();
}

function wireLink(page, open) {
  const follow = () => { open(); graph.scrollIntoView({ block: "nearest" }); };
  on(window, "hashchange", follow);
  // What is in the address already begins again too.
  for (const link of document.querySelectorAll(".try a")) {
    on(link, "click", () => { if (link.hash === location.hash) follow(); });
  }
  on($("copy"), "click", async () => {
    const url = new URL(location.href);
    url.hash = page.recording();
    try {
      await navigator.clipboard.writeText(url.href);
      $("copy").textContent = "Copied";
    } catch {
      clearTimeout(due);
      history.replaceState(null, "", url);
      $("copy").textContent = "It is in the address";
    }
    setTimeout(() => { $("copy").textContent = "Copy link"; }, 2000);
  });
}

/** Runs a frame whenever the browser draws. */
function animate(step) {
  let next;
  const frame = (now) => {
    next = requestAnimationFrame(frame);
    guard(() => step(now));
    if (failed) cancelAnimationFrame(next);
  };
  on(document, "visibilitychange", () => {
    cancelAnimationFrame(next);
    if (!document.hidden) next = requestAnimationFrame(frame);
  });
  next = requestAnimationFrame(frame);
}
