// Automatic events: on and off, how they are spaced, how many, and the seed.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { click, events, settle, show, step, type, value, values } from './scope.mjs';

pageTest('automatic events', async ({ page, open, test }) => {
  await test('the box turns automatic events on and off', async () => {
    await show(page, open, 'auto=off&pattern=steady&auto-rate=5&limit=0&at=10&paused');
    assert.equal(await events(page), 0);
    await page.locator('#auto').check();
    // One every 0.2 s from now; an event at the very end of a step comes in the next step.
    await step(page, 11);
    assert.equal(await events(page), 5);
    await page.locator('#auto').uncheck();
    await step(page, 20);
    assert.equal(await events(page), 5);
    await click(page);
    assert.equal(await events(page), 6);
  });

  await test('patterns space the same number of events differently', async () => {
    const rates = new Set();
    for (const pattern of ['steady', 'poisson', 'bursts', 'day-and-night 1m']) {
      await show(page, open, `pattern=${pattern}&auto-rate=20&limit=0&at=120&paused`);
      assert.equal(await page.inputValue('#pattern'), pattern);
      const found = await events(page);
      assert(Math.abs(found / 2400 - 1) < 0.2, `${pattern}: ${found} events`);
      rates.add(await value(page, 'rate'));
    }
    assert.equal(rates.size, 4);
    await page.locator('#pattern').selectOption('steady');
    const before = await events(page);
    await step(page, 10);
    assert(Math.abs(await events(page) - before - 20) <= 1);
  });

  await test('the rate of events is a number or a place on the slider', async () => {
    const slider = page.locator('#auto-rate-slider');
    const place = async () => Number(await slider.inputValue());
    const perSecond = async () => {
      const before = await events(page);
      await step(page, 10);
      return await events(page) - before;
    };
    await show(page, open, 'pattern=steady&auto-rate=10&limit=0&at=5&paused');
    assert.equal(await place(), 1);

    await type(page, 'auto-rate', '250');
    assert(Math.abs(await place() - Math.log10(250)) < 0.006);
    assert(Math.abs(await perSecond() - 250) <= 1);

    await slider.fill('3');
    assert.equal(await page.inputValue('#auto-rate'), '1000');
    assert(Math.abs(await perSecond() - 1000) <= 1);

    await slider.focus();
    for (const [key, rate] of [['End', '1000000'], ['Home', '0.001']]) {
      await page.keyboard.press(key);
      assert.equal(await page.inputValue('#auto-rate'), rate);
      // A screen reader tells the rate and not its logarithm.
      assert.match(await slider.getAttribute('aria-valuetext'), new RegExp(`^${rate}\\b`));
    }
  });

  await test('a million events a second are counted', async () => {
    await show(page, open, 'pattern=steady&auto-rate=1000000&decay=1s&limit=0&at=1&paused');
    await step(page, 1);
    assert(Math.abs(await events(page) - 1.1e6) <= 1);
    // Steady events approach their rate as r(t) = R (1 - e^(-t/p)).
    const rate = await value(page, 'rate');
    assert(Math.abs(rate / (1e6 * (1 - Math.exp(-1.1))) - 1) < 1e-5, `${rate}`);
  });

  await test('a seed gives the same events, another one others', async () => {
    const run = async (seed) => {
      await show(page, open, `auto-rate=3&limit=10&seed=${seed}&at=60&paused`);
      return values(page, 'allowed', 'refused', 'rate', 'smoothed');
    };
    const first = await run(7);
    assert.notDeepEqual(await run(8), first);
    assert.deepEqual(await run(7), first);

    await page.locator('#reset').click();
    await step(page, 600);
    assert.deepEqual(await values(page, 'allowed', 'refused'), first.slice(0, 2));
    await type(page, 'seed', '8');
    await page.locator('#reset').click();
    await settle(page);
    await step(page, 600);
    assert.notDeepEqual(await values(page, 'rate', 'smoothed'), first.slice(2));
  });
});
