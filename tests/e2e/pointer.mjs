// Hands on the graph: a mouse that drags, and fingers, of which Playwright itself can only tap.

import { settle } from './scope.mjs';

export const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

// Drags with the mouse from a place in the window to others.
export async function drag(page, from, ...to) {
  await page.mouse.move(...from);
  await page.mouse.down();
  for (const place of to) await page.mouse.move(...place, { steps: 5 });
  await page.mouse.up();
  await settle(page);
}

// Fingers, by events of the browser's own. Each is given its place, from the upper left corner of the graph.
export async function fingers(page) {
  const devtools = await page.context().newCDPSession(page);
  const box = await page.locator('#graph').boundingBox();
  const touch = (type) => (...places) => devtools.send('Input.dispatchTouchEvent', {
    type, touchPoints: places.map(([x, y], id) => ({ x: box.x + x, y: box.y + y, id })),
  });
  return { down: touch('touchStart'), move: touch('touchMove'), up: touch('touchEnd') };
}
