// Fingers on the graph. A tap is an event, a swipe looks back, and a press that is held shows
// the crosshair, which then follows the finger and stays until a tap ends it. Two fingers zoom in time
// if the graph has the focus, as after a tap; otherwise the browser zooms the page by them.

/** How long a press is held, in milliseconds. */
const HELD = 450;

/** A finger that moves by no more than this, in CSS pixels, rests. */
const RESTS = 10;

export function wireFingers(graph, { page, on, at, changed }) {
  /** The place of each finger, by the id of its pointer. */
  const fingers = new Map();
  /** The distance of two fingers that zoom in time, in CSS pixels; undefined if none do. */
  let apart;
  /** Where the finger went down. */
  let from;
  /** Whether it moved since. */
  let moved = false;
  /** Whether the crosshair is shown: it follows the finger, and stays where the finger left it. */
  let held = false;
  /** Whether the crosshair was shown before the finger went down. */
  let kept = false;
  let timer;

  const isFinger = (event) => event.pointerType !== "mouse";
  const end = () => {
    clearTimeout(timer);
    held = false;
    page.leave();
  };
  /** The distance of the first two fingers, in CSS pixels, and the x of the middle between them. */
  const span = () => {
    const [[x, y], [left, top]] = fingers.values();
    return [Math.max(Math.hypot(x - left, y - top), RESTS), (x + left) / 2];
  };
  const lift = ({ pointerId }) => {
    fingers.delete(pointerId);
    apart = undefined;
  };
  on(graph, "pointerdown", (event) => {
    if (!isFinger(event) || event.button !== 0) return;
    fingers.set(event.pointerId, at(event));
    if (fingers.size > 1) {
      apart = fingers.size === 2 && document.activeElement === graph ? span()[0] : undefined;
      return end();
    }
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
    if (!fingers.has(event.pointerId)) return;
    fingers.set(event.pointerId, at(event));
    if (apart) {
      const [now, middle] = span();
      page.zoom(middle, 600 * Math.log(apart / now));
      apart = now;
    }
    if (fingers.size !== 1) return;
    const [x, y] = at(event);
    moved ||= Math.hypot(x - from[0], y - from[1]) > RESTS;
    if (moved) clearTimeout(timer);
    if (held) page.point(x, y);
    else page.move_to(x, y, true, event.timeStamp);
  });
  on(graph, "pointerup", (event) => {
    if (!isFinger(event)) return;
    lift(event);
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
    lift(event);
    end();
  });
  on(graph, "blur", end);
  on(document, "pointerdown", ({ target }) => { if (held && target !== graph) end(); });
  // A finger that moves up or down scrolls the page, unless it holds the limit or the crosshair.
  for (const type of ["touchstart", "touchmove"]) {
    on(graph, type, (event) => {
      const takes = apart || event.touches.length === 1 && (held || page.holds_limit());
      if (takes && event.cancelable) event.preventDefault();
    }, { passive: false });
  }
  on(graph, "contextmenu", (event) => { if (fingers.size > 0) event.preventDefault(); });
}
