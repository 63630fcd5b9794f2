// The scope's time: pause, step, speed, reset and window.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import {
  click, close, column, crisp, events, inks, loaded, plot, press, show, step, until, value, values,
} from './scope.mjs';

// The one test whose clock is the real one. It compares the times of frames with what was written in
// them, however far apart they are.
pageTest('in the time of the real clock', async ({ page, open }) => {
  await open('/#pattern=steady&auto-rate=1000&limit=0');
  await loaded(page);
  // The time of the frame in which so many events are written.
  const written = (enough) => page.evaluate((enough) => new Promise((done) => {
    const allowed = document.querySelector('#allowed');
    new MutationObserver((_, observer) => {
      if (Number(allowed.dataset.value) < enough) return;
      observer.disconnect();
      done([document.timeline.currentTime, Number(allowed.dataset.value)]);
    }).observe(allowed, { attributes: true });
  }), enough);
  const [from, before] = await written(0);
  const [to, after] = await written(before + 600);
  assert(Math.abs((to - from) - (after - before)) <= 2, `${after - before} events in ${to - from} ms`);
});

pageTest('alive, step by step', async ({ page, open, test }) => {
  await test('the page is alive on load', async () => {
    await show(page, open);
    const start = await value(page, 'rate');
    await until(page, (start) => Number(document.querySelector('#rate').dataset.value) > start, start);
    assert.equal(await page.locator('#pause').textContent(), 'Pause');
  });

  await test('a step is a tenth of a second', async () => {
    await show(page, open, 'auto=off&at=3&paused&do=1:events*5');
    const rate = await value(page, 'rate');
    await press(page, '#step');
    assert(close(await value(page, 'rate'), rate * Math.exp(-0.01)));
    await step(page, 9);
    assert(close(await value(page, 'rate'), rate * Math.exp(-0.1)));
  });

  await test('a step stops a scope that runs', async () => {
    await show(page, open, 'auto-rate=5');
    await press(page, '#step');
    assert.equal(await page.locator('#pause').textContent(), 'Run');
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
    // The formula is that of a first event.
    assert.equal(await page.textContent('#m-gap'), '∞');
    assert.equal(await page.textContent('#m-after'), '1.00');
  });
});

pageTest('with a clock that a test moves', async ({ page, open, test }) => {
  await test('a pause stops time and nothing else', async () => {
    await show(page, open, 'auto-rate=5&at=10&window=10s');
    await page.clock.runFor(1000);
    const before = await events(page);
    await page.locator('#pause').click();
    await page.clock.runFor(50);
    const still = await values(page, 'rate', 'smoothed', 'allowed', 'refused');
    await page.clock.fastForward(60_000);
    await page.clock.runFor(50);
    assert.deepEqual(await values(page, 'rate', 'smoothed', 'allowed', 'refused'), still);
    assert.equal(await page.locator('#pause').textContent(), 'Run');
    assert.equal(await page.locator('#note').textContent(), 'paused');
    // It goes on where it stopped; what the pause took is no gap.
    await page.locator('#pause').click();
    await page.clock.runFor(2000);
    const more = await events(page) - before;
    assert(more > 0 && more < 25, `${more} events in 2 s`);
    assert.equal(await page.locator('#note').textContent(), '');
  });

  await test('from a tenth to ten times the speed', async () => {
    await show(page, open, 'pattern=steady&auto-rate=100&limit=0');
    for (const speed of ['0.1', '0.5', '1', '10']) {
      await page.locator('#speed').selectOption(speed);
      await page.clock.runFor(50);
      const before = await events(page);
      await page.clock.runFor(1500);
      const [found, expected] = [await events(page) - before, 150 * speed];
      // Readouts are written ten times a second.
      assert(Math.abs(found - expected) <= 13 * speed + 1, `at ${speed}: ${found}, not ${expected}`);
    }
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
