// What fingers do on the graph. A tap is an event, a swipe looks back, and a press that is held shows
// the crosshair, which then follows the finger and stays until a tap ends it. Two fingers are the
// browser's: they zoom the page.

/** How long a press is held, in milliseconds. */
const HELD = 450;

/** Less than this, in CSS pixels, is a finger that rests. */
const RESTS = 10;

export function wireFingers(graph, { page, on, at, changed }) {
  const fingers = new Set();
  /** Where the finger went down. */
  let from;
  /** Whether it moved since. */
  let moved = false;
  /** Whether the crosshair follows it, or stays where it left it. */
  let held = false;
  /** Whether the crosshair was there before it. */
  let kept = false;
  let timer;

  const isFinger = (event) => event.pointerType !== "mouse";
  const end = () => {
    clearTimeout(timer);
    held = false;
    page.leave();
  };
  on(graph, "pointerdown", (event) => {
    if (!isFinger(event) || event.button !== 0) return;
    fingers.add(event.pointerId);
    if (fingers.size > 1) return end();
    [from, moved, kept] = [at(event), false, held];
    if (held) return;
    graph.setPointerCapture(event.pointerId);
    page.press(...from, true, false);
    if (page.holds_limit()) return;
    timer = setTimeout(() => {
      held = true;
      page.point(...from);
    }, HELD);
  });
  on(graph, "pointermove", (event) => {
    if (!isFinger(event) || fingers.size !== 1) return;
    const [x, y] = at(event);
    moved ||= Math.hypot(x - from[0], y - from[1]) > RESTS;
    if (moved) clearTimeout(timer);
    if (held) page.point(x, y);
    else page.move_to(x, y, true);
  });
  on(graph, "pointerup", (event) => {
    if (!isFinger(event)) return;
    fingers.delete(event.pointerId);
    clearTimeout(timer);
    if (held) {
      if (kept && !moved) end();
      return;
    }
    const done = page.release(event.timeStamp);
    page.leave();
    if (done) changed();
  });
  on(graph, "pointercancel", (event) => {
    if (!isFinger(event)) return;
    fingers.delete(event.pointerId);
    end();
  });
  on(graph, "blur", end);
  on(document, "pointerdown", ({ target }) => { if (held && target !== graph) end(); });
  // A finger that moves upwards scrolls the page, but not when it holds the limit or the crosshair.
  for (const type of ["touchstart", "touchmove"]) {
    on(graph, type, (event) => {
      if (event.touches.length === 1 && event.cancelable && (held || page.holds_limit())) event.preventDefault();
    }, { passive: false });
  }
  on(graph, "contextmenu", (event) => { if (fingers.size > 0) event.preventDefault(); });
}
