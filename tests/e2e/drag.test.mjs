// A drag looks back in time and is no event; the data go on.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { events, noteTexts, plot, settle, show, values, written } from './scope.mjs';

// Drags with the mouse from the middle of the graph, in steps.
async function drag(page, dx, dy) {
  const box = await page.locator('#graph').boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + 0.6 * box.height];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + dx, y + dy, { steps: 5 });
  await page.mouse.up();
}

pageTest('drags with the mouse', async ({ page, open, test }) => {
  await test('a drag looks back, and Live returns', async () => {
    await noteTexts(page);
    await show(page, open, 'auto-rate=2&at=50&paused');
    const before = [await events(page), ...await values(page, 'rate', 'smoothed')];
    assert((await written(page)).includes('at 50\u202fs'));
    assert(await page.locator('#live').isHidden());

    await drag(page, 200, 3);
    await settle(page);
    assert(await page.locator('#live').isVisible());
    const edge = (await written(page)).find((text) => text.startsWith('at '));
    // 200 of the plot's pixels, in a window of a minute.
    const { left, right } = await plot(page);
    const expected = 50 - 60 * 200 / (right - left);
    assert(Math.abs(parseFloat(edge.slice(3)) - expected) <= 0.1, `${edge}, not ${expected}`);
    assert.deepEqual([await events(page), ...await values(page, 'rate', 'smoothed')], before);

    await page.locator('#live').click();
    await settle(page);
    assert(await page.locator('#live').isHidden());
    assert((await written(page)).includes('at 50\u202fs'));
    assert.deepEqual([await events(page), ...await values(page, 'rate', 'smoothed')], before);
  });

  await test('upwards, a drag is no event either', async () => {
    await show(page, open, 'auto=off&at=5&paused');
    await drag(page, 1, -60);
    await settle(page);
    assert.equal(await events(page), 0);
    assert(await page.locator('#live').isHidden());
  });
});

pageTest('looking back does not stop the data', async ({ page, open }) => {
  await noteTexts(page);
  await show(page, open, 'pattern=steady&auto-rate=10&at=30');
  await drag(page, 300, 0);
  await page.clock.runFor(50);
  const [edge, before] = [(await written(page)).find((text) => text.startsWith('at ')), await events(page)];
  await page.clock.runFor(5000);
  assert((await written(page)).includes(edge), 'the picture stands still');
  assert(Math.abs(await events(page) - before - 50) <= 1);
});

// What a finger does, as the browser sees it: Playwright itself only taps.
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
