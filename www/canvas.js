// A canvas and its page: pointers, fingers, the wheel, keys, and its size.
import { wireFingers } from "./fingers.js";

/** With this, the letters of the Scope are 20 px high. */
const LARGER = 5 / 3;

/**
 * Wires a canvas to its page: `changed` is called after each action, `key` gets the keys, and `fit` gives
 * the canvas another height if the view wants one.
 */
export function wireCanvas(graph, page, { on, guard, changed, key, fit }) {
  // On the whole screen the Scope is drawn larger, for those who sit far away.
  const scale = () => (document.fullscreenElement?.contains(graph) && graph.dataset.view === "scope" ? LARGER : 1);
  const at = (event) => [event.offsetX / scale(), event.offsetY / scale()];
  on(graph, "pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType !== "mouse") return;
    graph.setPointerCapture(event.pointerId);
    page.press(...at(event), false, event.shiftKey);
  });
  on(graph, "pointermove", (event) => {
    if (event.pointerType === "mouse") graph.style.cursor = page.move_to(...at(event), (event.buttons & 1) === 1);
  });
  on(graph, "pointerup", (event) => {
    if (event.button === 0 && event.pointerType === "mouse" && page.release(event.timeStamp)) changed();
  });
  for (const type of ["pointercancel", "pointerleave"]) {
    on(graph, type, (event) => { if (event.pointerType === "mouse") page.leave(); });
  }
  on(graph, "wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    page.zoom(at(event)[0], event.deltaY);
  }, { passive: false });
  wireFingers(graph, { page, on, at, changed });
  on(graph, "keydown", (event) => key(event, page, changed));

  const resize = ({ contentRect: { width, height }, devicePixelContentBoxSize: boxes }) => {
    page.resize(width / scale(), height / scale(), scale() * devicePixelRatio, boxes && [boxes[0].inlineSize, boxes[0].blockSize]);
    graph.parentElement.style.setProperty("--pitch", page.pitch());
    // Another width may want another height, but only once the new width is laid out.
    requestAnimationFrame(() => guard(fit));
  };
  const measure = () => resize({ contentRect: { width: graph.clientWidth, height: graph.clientHeight } });
  const observer = new ResizeObserver(([entry]) => guard(() => resize(entry)));
  try {
    observer.observe(graph, { box: "device-pixel-content-box" });
  } catch {
    // A browser that does not tell device pixels does not tell that the resolution changed, either.
    observer.observe(graph);
    const follow = () => {
      const same = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
      on(same, "change", () => { measure(); follow(); }, { once: true });
    };
    follow();
  }
  measure();
}
