// The time of the comparison: pause, step, speed, reset, window, and looking back.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { click, compare, counts, HEAD, place, plots, quiet, sent, tall } from './compare.mjs';
import { noteTexts, press, settle, step, type, until, written } from './scope.mjs';

pageTest('with the clock of the browser', tall, async ({ page, open, test }) => {
  await test('the page is alive on load', async () => {
    await compare(page, open);
    const start = await sent(page);
    await until(page, (start) => Number(document.querySelector('#sent').dataset.value) > start, start);
    assert.equal(await page.textContent('#pause'), 'Pause');
  });

  await test('a step is a tenth of a second, and stops a run', async () => {
    await compare(page, open, 'auto=off&lanes=token-bucket&at=5');
    await press(page, '#step');
    assert.equal(await page.textContent('#pause'), 'Run');
    assert.equal(await page.textContent('#note'), 'paused');
    // A bucket of ten that gets one back in ten steps.
    await click(page, 1, 11);
    assert.deepEqual(await counts(page), [[10, 1]]);
    await step(page, 9);
    await click(page, 1);
    assert.deepEqual(await counts(page), [[10, 2]]);
    await step(page, 1);
    await click(page, 1, 2);
    assert.deepEqual(await counts(page), [[11, 3]]);
  });

  await test('a reset begins again with the settings of now', async () => {
    await compare(page, open, `${quiet}&do=1:events*12`);
    assert.equal(await sent(page), 12);
    await type(page, 'limit', '5/10s');
    await press(page, '#reset');
    assert.equal(await sent(page), 0);
    assert.deepEqual(await counts(page), Array(8).fill([0, 0]));
    assert.equal(await page.textContent('#share-1'), '–');
    assert.equal(await page.inputValue('#limit'), '5/10s');
    await click(page, 1, 6);
    assert.deepEqual((await counts(page))[2], [5, 1]);
  });
});

pageTest('with a clock that a test moves', tall, async ({ page, open, test }) => {
  await test('a pause stops time and nothing else', async () => {
    await compare(page, open, 'auto-rate=5&at=10');
    await page.clock.runFor(1000);
    const before = await sent(page);
    await page.locator('#pause').click();
    await page.clock.runFor(50);
    const still = await counts(page);
    await page.clock.fastForward(60_000);
    await page.clock.runFor(50);
    assert.deepEqual(await counts(page), still);
    assert.deepEqual([await page.textContent('#pause'), await page.textContent('#note')], ['Run', 'paused']);
    await page.locator('#pause').click();
    await page.clock.runFor(2000);
    const more = await sent(page) - before;
    assert(more > 0 && more < 25, `${more} events in 2 s`);
    assert.equal(await page.textContent('#note'), '');
  });

  await test('from a tenth to a thousand times the speed', async () => {
    await compare(page, open, 'pattern=steady&auto-rate=100&lanes=token-bucket');
    for (const speed of ['0.1', '0.5', '1', '10', '100', '1000']) {
      await page.locator('#speed').selectOption(speed);
      await page.clock.runFor(50);
      const before = await sent(page);
      await page.clock.runFor(1500);
      const [found, expected] = [await sent(page) - before, 150 * speed];
      // Counters are written ten times a second.
      assert(Math.abs(found - expected) <= 13 * speed + 1, `at ${speed}: ${found}, not ${expected}`);
    }
  });
});

// What the right edge is.
async function edge(page) {
  await settle(page);
  return (await written(page)).find((text) => text === 'now' || text.startsWith('at '));
}

pageTest('looking back', tall, async ({ page, open, test }) => {
  await noteTexts(page);
  await test('a drag looks back and is no event, and Live returns', async () => {
    await compare(page, open, 'auto-rate=2&at=50&paused');
    const before = await counts(page);
    assert.equal(await edge(page), 'at 50\u202fs');
    assert(await page.locator('#live').isHidden());
    const { left, right } = await plots(page);
    const [x, y] = await place(page, 400, HEAD + 30);
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 200, y + 3, { steps: 5 });
    await page.mouse.up();
    // 200 of the plots' pixels, in a window of a minute.
    const back = 50 - 60 * 200 / (right - left);
    assert(Math.abs(parseFloat((await edge(page)).slice(3)) - back) <= 0.1, `${await edge(page)}, not at ${back}`);
    assert.deepEqual(await counts(page), before);
    await press(page, '#live');
    assert.equal(await edge(page), 'at 50\u202fs');
    assert(await page.locator('#live').isHidden());
    assert.deepEqual(await counts(page), before);
  });

  await test('keys look back, and Escape returns', async () => {
    await compare(page, open, 'auto-rate=2&at=50&paused&window=10s');
    const before = await counts(page);
    await page.locator('#graph').focus();
    for (const [key, where] of [
      ['PageUp', 45], ['PageUp', 40], ['PageDown', 45], ['PageDown', 50],
      ['PageUp', 45], ['Escape', 50], ['PageDown', 50],
    ]) {
      await page.keyboard.press(key);
      assert.equal(await edge(page), `at ${where}\u202fs`, key);
      assert.equal(await page.locator('#live').isVisible(), where !== 50);
    }
    assert.deepEqual(await counts(page), before);
  });

  await test('the tags then say what the lanes said', async () => {
    // Eight in use at 2 s, one back in a second: none is left at 45 s.
    await compare(page, open, 'auto=off&lanes=token-bucket&window=10s&at=12&paused&do=2:events*8');
    await page.mouse.move(1, 1);
    await settle(page);
    assert((await written(page)).includes('0 of 10'));
    await page.locator('#graph').focus();
    await page.keyboard.press('PageUp');
    // At 7 s five came back; what is known is from within 16 ms of it.
    assert.equal(await edge(page), 'at 7\u202fs');
    assert((await written(page)).some((text) => /^(3|3\.0\d|2\.9\d) of 10$/.test(text)), (await written(page)).join());
  });

  await test('looking back does not stop the data', async () => {
    await compare(page, open, 'pattern=steady&auto-rate=20&at=50');
    await page.locator('#graph').focus();
    await page.keyboard.press('PageUp');
    const seen = await edge(page);
    const before = await sent(page);
    await until(page, (enough) => document.querySelector('#sent').dataset.value > enough, before + 10);
    assert.equal(await edge(page), seen);
  });
});
