// An event, however it is made, goes to all lanes.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { allowed, click, compare, counts, HEAD, more, PITCH, place, quiet, sent, tall } from './compare.mjs';
import { noteTexts, plot, press, settle, step, written } from './scope.mjs';

const each = (...counts) => Array(8).fill(counts);

pageTest('clicks and keys that are events for all, and those that are not', tall, async ({ page, open, test }) => {
  await test('a click in any lane is one event for every lane', async () => {
    await compare(page, open, quiet);
    for (let n = 1; n <= 8; n++) {
      await click(page, n);
      assert.equal(await sent(page), n);
      assert.deepEqual(await counts(page), each(n, 0));
    }
    // A click on the cumulative picture is an event, too.
    await click(page, 9);
    assert.equal(await sent(page), 9);
  });

  await test('sixteen in one instant, each lane by its rule', async () => {
    await compare(page, open, quiet);
    await click(page, 1, 16);
    // Ten fit into a bucket, a queue, a window or a log of ten. Exim's rate after the n-th event is just
    // below n, since it takes two events to be a nanosecond apart. It refuses a rate that is not below 10, so
    // ten pass. The recent average decides by its estimate before the event, which after n events is n ln 2 /
    // 10 s with a half-life of 10 s. That is not above 1 a second up to n = 14, so the fifteenth passes.
    assert.equal(Math.floor(10 / Math.LN2) + 1, 15);
    assert.deepEqual(await allowed(page), [10, 10, 10, 10, 10, 10, 10, 15]);
    assert.deepEqual((await counts(page)).map(([passed, denied]) => passed + denied), Array(8).fill(16));
    assert.equal(await page.textContent('.lane .counts >> nth=0'), '10 of 16 passed');
    assert.equal(await page.textContent('.lane .counts >> nth=7'), '15 of 16 passed');
  });

  await test('what is beside the lanes makes no event', async () => {
    await compare(page, open, quiet);
    for (const part of ['h1', '.lane .pencil >> nth=1', '.lane .number >> nth=2', '#add', '#limit']) {
      await page.locator(part).click();
    }
    await settle(page);
    assert.equal(await sent(page), 0);
    // Between its controls, and where it only has numbers, the head of a lane is a part of the graph.
    await page.evaluate(() => scrollTo(0, 0));
    for (const part of ['.counts', '.promise', '.name']) {
      const { x, y, width, height } = await page.locator(`.lane ${part} >> nth=3`).boundingBox();
      await page.mouse.click(x + width / 2, y + height / 2);
    }
    await settle(page);
    assert.equal(await sent(page), 3);
  });

  await test('automatic events go through every lane', async () => {
    await compare(page, open, 'auto=off&pattern=steady&auto-rate=5&at=10&paused');
    assert.equal(await sent(page), 0);
    await page.locator('#auto').check();
    // One every 0.2 s from now; an event at the very end of a step comes in the next step.
    await step(page, 11);
    assert.equal(await sent(page), 5);
    assert.deepEqual(await counts(page), each(5, 0));
    await page.locator('#auto').uncheck();
    await step(page, 20);
    assert.equal(await sent(page), 5);
    await press(page, '[data-step=cost][data-by="1"]');
    await page.locator('#auto').check();
    await step(page, 30);
    for (const [passed, denied] of await counts(page)) assert.equal(passed + denied, await sent(page));
  });
});

pageTest('a tap is an event for all', { hasTouch: true, viewport: { width: 360, height: 740 } }, async ({ page, open }) => {
  await noteTexts(page);
  await compare(page, open, quiet);
  for (const n of [1, 4]) {
    await page.locator('#graph').tap({ position: { x: 150, y: (PITCH + more(336)) * (n - 1) + HEAD + more(336) + 30 } });
    await settle(page);
  }
  assert.equal(await sent(page), 2);
  assert.deepEqual(await counts(page), each(2, 0));
  assert(!(await written(page)).some((text) => text.endsWith(' ago')), 'a finger leaves no crosshair');
});
