// A canvas and its page: pointers, fingers, the wheel, keys, and its size.
import { wireFingers } from "./fingers.js";

const isWide = matchMedia("(width >= 1700px) and (height >= 900px)");

/** How much larger a picture is drawn for those who sit far away: on the whole screen, and in the story on a large one. */
export function scale(canvas) {
  if (document.fullscreenElement?.contains(canvas)) return 5 / 3;
  return isWide.matches && canvas.closest(".tale") ? 1.4 : 1;
}

/**
 * Wires a canvas to its page: `changed` is called after each action, `key` gets the keys, and `fit` gives
 * the canvas another height if the view wants one.
 */
export function wireCanvas(graph, page, { on, guard, changed, key, fit }) {
  const at = (event) => [event.offsetX / scale(graph), event.offsetY / scale(graph)];
  on(graph, "pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType !== "mouse") return;
    graph.setPointerCapture(event.pointerId);
    page.press(...at(event), false, event.shiftKey);
  });
  on(graph, "pointermove", (event) => {
    if (event.pointerType === "mouse") graph.style.cursor = page.move_to(...at(event), (event.buttons & 1) === 1, event.timeStamp);
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
    const larger = scale(graph);
    page.resize(width / larger, height / larger, larger * devicePixelRatio, boxes && [boxes[0].inlineSize, boxes[0].blockSize]);
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
