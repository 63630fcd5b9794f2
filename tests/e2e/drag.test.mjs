// Drags that do not look back, and drags with a finger; time.test.mjs has the others.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { events, settle, show } from './scope.mjs';

pageTest('a drag upwards is no event', async ({ page, open }) => {
  await show(page, open, 'auto=off&at=5&paused');
  const box = await page.locator('#graph').boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + 0.6 * box.height];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 1, y - 60, { steps: 5 });
  await page.mouse.up();
  await settle(page);
  assert.equal(await events(page), 0);
  assert(await page.locator('#live').isHidden());
});

// Swipes with a finger, by events of the browser's own: Playwright itself can only tap.
async function swipe(page, dx, dy) {
  const box = await page.locator('#graph').boundingBox();
  const [x, y] = [box.x + 150, box.y + 180];
  const devtools = await page.context().newCDPSession(page);
  const touch = (type, points) =>
    devtools.send('Input.dispatchTouchEvent', { type, touchPoints: points });
  await touch('touchStart', [{ x, y }]);
  for (let i = 1; i <= 10; i++) await touch('touchMove', [{ x: x + dx * i / 10, y: y + dy * i / 10 }]);
  await touch('touchEnd', []);
}

const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

pageTest('drags with a finger', phone, async ({ page, open, test }) => {
  await test('a finger that swipes to the right looks back', async () => {
    await show(page, open, 'auto=off&at=50&paused&do=1:events*3');
    await swipe(page, 90, 4);
    await settle(page);
    assert(await page.locator('#live').isVisible());
    assert.equal(await events(page), 3);
    assert.equal(await page.evaluate(() => scrollY), 0);
  });

  await test('a finger that swipes upwards scrolls the page', async () => {
    await show(page, open, 'auto=off&at=50&paused');
    await swipe(page, 0, -120);
    await page.waitForFunction(() => scrollY > 50);
    await settle(page);
    assert.equal(await events(page), 0);
  });
});
