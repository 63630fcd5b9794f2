// Time, on both views: pause, steps, speed and looking back; and on the Scope reset and window.

import assert from 'node:assert/strict';
import { tall } from './compare.mjs';
import { pageTest } from './harness.mjs';
import { drag } from './pointer.mjs';
import {
  assertPolite, click, close, column, crisp, inks, noteTexts, plot, press, settle, show, step, value, values, written,
} from './scope.mjs';
import { views } from './views.mjs';

// The label of the right edge.
async function edge(page) {
  await settle(page);
  return (await written(page)).find((text) => text === 'now' || text.startsWith('at '));
}

for (const [view, { begin, light, count, told, grip }] of Object.entries(views)) {
  pageTest(`${view}: time passes, and stands still`, tall, async ({ page, open, test }) => {
    await test('the page is alive on load', async () => {
      await begin(page, open);
      const start = await count(page);
      await page.clock.runFor(4000);
      assert(await count(page) > start);
      assert.equal(await page.textContent('#pause'), 'Pause');
    });

    await test('a step stops a run', async () => {
      await begin(page, open, 'auto-rate=5');
      await press(page, '#step');
      assert.deepEqual([await page.textContent('#pause'), await page.textContent('#note')], ['Run', 'paused']);
    });

    await test('a pause stops time and nothing else', async () => {
      await begin(page, open, 'auto-rate=5&at=10&window=10s');
      await page.clock.runFor(1000);
      const before = await count(page);
      await page.locator('#pause').click();
      await page.clock.runFor(50);
      const still = await told(page);
      await page.clock.fastForward(60_000);
      await page.clock.runFor(50);
      assert.deepEqual(await told(page), still);
      assert.deepEqual([await page.textContent('#pause'), await page.textContent('#note')], ['Run', 'paused']);
      // The run goes on where it stopped, and the pause is no gap.
      await page.locator('#pause').click();
      await page.clock.runFor(2000);
      const more = await count(page) - before;
      assert(more > 0 && more < 25, `${more} events in 2 s`);
      assert.equal(await page.textContent('#note'), '');
    });

    await test('at every speed', async () => {
      await begin(page, open, `pattern=steady&auto-rate=100${light}`);
      for (const speed of await page.$$eval('#speed option', (all) => all.map(({ value }) => value))) {
        await page.locator('#speed').selectOption(speed);
        await page.clock.runFor(50);
        const before = await count(page);
        await page.clock.runFor(1500);
        const [found, expected] = [await count(page) - before, 150 * speed];
        // Readouts are written ten times a second.
        assert(Math.abs(found - expected) <= 13 * speed + 1, `at ${speed}: ${found}, not ${expected}`);
      }
    });

    await test('the summary is polite: rarely, unless something is done', async () => {
      await begin(page, open, `auto-rate=50${light}`);
      await assertPolite(page);
    });
  });

  pageTest(`${view}: looking back`, tall, async ({ page, open, test }) => {
    await noteTexts(page);
    await test('a drag looks back and is no event, and Live returns', async () => {
      await begin(page, open, 'auto-rate=2&at=50&paused');
      const before = await told(page);
      assert.equal(await edge(page), 'at 50\u202fs');
      assert(await page.locator('#live').isHidden());
      const [x, y] = await grip(page);
      await drag(page, [x, y], [x + 200, y + 3]);
      // The drag was 200 pixels of the plot, in a window of a minute.
      const { left, right } = await plot(page);
      const back = 50 - 60 * 200 / (right - left);
      assert(Math.abs(parseFloat((await edge(page)).slice(3)) - back) <= 0.1, `${await edge(page)}, not at ${back}`);
      assert.deepEqual(await told(page), before);
      await press(page, '#live');
      assert.equal(await edge(page), 'at 50\u202fs');
      assert(await page.locator('#live').isHidden());
      assert.deepEqual(await told(page), before);
    });

    await test('keys look back, and Escape returns', async () => {
      await begin(page, open, 'auto-rate=2&at=50&paused&window=10s');
      const before = await told(page);
      await page.locator('#graph').focus();
      for (const [key, where] of [
        ['PageUp', 45], ['PageUp', 40], ['PageDown', 45], ['PageDown', 50],
        ['PageUp', 45], ['Escape', 50], ['PageDown', 50],
      ]) {
        await page.keyboard.press(key);
        assert.equal(await edge(page), `at ${where}\u202fs`, key);
        assert.equal(await page.locator('#live').isVisible(), where !== 50);
      }
      // The right edge stops a quarter of the window after the first event.
      for (let i = 0; i < 20; i++) await page.keyboard.press('PageUp');
      assert.match(await edge(page), /^at 2\.\d+\u202fs$/);
      assert.deepEqual(await told(page), before);
    });

    await test('looking back does not stop the data', async () => {
      await begin(page, open, 'pattern=steady&auto-rate=10&at=30');
      await page.locator('#graph').focus();
      await page.keyboard.press('PageUp');
      const [seen, before] = [await edge(page), await count(page)];
      await page.clock.runFor(5000);
      assert.equal(await edge(page), seen);
      assert(Math.abs(await count(page) - before - 50) <= 1);
    });
  });
}

pageTest('the Scope, step by step', async ({ page, open, test }) => {
  await test('a step is a tenth of a second', async () => {
    await show(page, open, 'auto=off&at=3&paused&do=1:events*5');
    const rate = await value(page, 'rate');
    await press(page, '#step');
    assert(close(await value(page, 'rate'), rate * Math.exp(-0.01)));
    await step(page, 9);
    assert(close(await value(page, 'rate'), rate * Math.exp(-0.1)));
  });

  await test('a reset begins again with the settings of now', async () => {
    await show(page, open, 'auto=off&limit=10&at=5&paused&do=1:events*12');
    await page.locator('#decay').fill('20s');
    await press(page, '#reset');
    const zero = ['rate', 'smoothed', 'allowed', 'refused', 'again'];
    assert.deepEqual(await values(page, ...zero), [0, 0, 0, 0, 0]);
    assert.equal(await page.textContent('#verdict'), 'no event yet');
    assert.equal(await page.inputValue('#decay'), '20s');
    await click(page);
    assert.deepEqual(await values(page, 'rate', 'allowed'), [1, 1]);
    // The formula has the numbers of a first event.
    assert.equal(await page.textContent('#m-gap'), '∞');
    assert.equal(await page.textContent('#m-after'), '1.00');
  });
});

pageTest('the window is the time between the edges', crisp, async ({ page, open }) => {
  await show(page, open, 'auto=off&limit=0&at=9&paused&do=4:events');
  const { left, right } = await plot(page);
  for (const [window, seconds] of [['10s', 10], ['30s', 30], ['1m', 60], ['10m', 600], ['1h', 3600]]) {
    await page.locator('#window').selectOption(window);
    await step(page, 0);
    const x = right - 5 * (right - left) / seconds;
    // The tick of the event is 1.5 CSS pixels wide.
    const there = await column(page, x + 0.5);
    assert(there.includes(inks.light.Allowed), `no tick at ${x} in ${window}`);
    const beside = await column(page, x - 3);
    assert(!beside.includes(inks.light.Allowed), `a tick beside ${x} in ${window}`);
  }
});
