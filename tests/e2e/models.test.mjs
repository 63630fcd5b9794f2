// The thin lines: off by default, in the link, and each with the values of its formula.

import assert from 'node:assert/strict';
import { assertSteady } from './clean.mjs';
import { pageTest } from './harness.mjs';
import {
  clipboard, close, column, crisp, height, inks, noteTexts, picture, plot, recording, settle, show, type, values,
  written,
} from './scope.mjs';

const names = ['bucket', 'mean', 'recent'];
const now = names.map((name) => `${name}-now`);

const even = async (page) => {
  const texts = await page.$$eval('.models .even', (all) => all.map((p) => p.textContent));
  return texts.map((text) => text.replaceAll('\u202f', ' '));
};

const seen = (page) => page.$$eval('.readouts > div', (all) =>
  all.filter((box) => box.checkVisibility()).map((box) => box.className));

// Three values at `now`, after events at the times given: the level of a bucket that drains m events in p and
// holds m; the mean of the last events, in events per p; and N of the recent average.
function expected(times, now, { m, p, last }) {
  let [level, n, at] = [0, 0, 0];
  const pass = (time) => {
    level = Math.max(0, level - (time - at) * m / p);
    n *= Math.exp(-(time - at) / p);
    at = time;
  };
  for (const time of times) {
    pass(time);
    if (level + 1 <= m) level += 1;
    n += 1;
  }
  pass(now);
  const gaps = Math.min(last, times.length - 1);
  return [level, p * gaps / (now - times.at(-1 - gaps)), n];
}

const script = 'auto=off&limit=5&at=12&paused&do=1:events,2.5:events*3,4.25:events,9:events*2';
const times = [1, 2.5, 2.5, 2.5, 4.25, 9, 9];

pageTest('the thin lines', { ...crisp, ...clipboard }, async ({ page, open, test }) => {
  await noteTexts(page);
  await test('they are off until they are asked for', async () => {
    await show(page, open, script);
    const all = ['rate', 'smoothed', 'allowed', 'refused', 'again', 'verdict'];
    assert.deepEqual(await seen(page), all);
    const before = await picture(page);
    for (const [i, name] of names.entries()) {
      await page.locator(`#${name}`).check();
      await settle(page);
      assert(await picture(page) !== before, `${name} is not seen`);
      const label = { recent: 'N' }[name] ?? name;
      assert((await written(page)).some((text) => text.startsWith(`${label} `)), label);
      assert.deepEqual(await seen(page), [...all, name]);
      const link = await recording(page);
      assert.match(link, new RegExp(`&${name}=on`));
      // The link shows the same line, with its past.
      const here = await picture(page);
      await show(page, open, link);
      assert(await picture(page) === here, `${name} from the link`);
      assert(close((await values(page, now[i]))[0], expected(times, 12, { m: 5, p: 10, last: 10 })[i], 1e-6), name);
      if (name === 'bucket') assert.equal(await page.textContent('#bucket-full'), 'of 5');
      await page.locator(`#${name}`).uncheck();
      await settle(page);
      assert(await picture(page) === before, `${name} stays`);
    }
  });

  await test('they are drawn where their values are', async () => {
    await show(page, open, `${script}&limit=0&bucket=on&mean=on&last=6&recent=on`);
    const { right, top, bottom } = await plot(page);
    const pixels = await column(page, right - 1);
    // Heights are compared with that of the red line, whose value is known.
    const [rate, mean, recent] = await values(page, 'rate', 'mean-now', 'recent-now');
    const up = (ink) => 2 * bottom - height(pixels, inks.light[ink]);
    assert(up('Recent') > up('Rate') && top > 0);
    for (const [ink, value] of [['Mean', mean], ['Recent', recent]]) {
      assert(Math.abs(up(ink) / up('Rate') - value / rate) < 0.02, `${ink}: ${up(ink) / up('Rate')}, not ${value / rate}`);
    }
    assert(!pixels.includes(inks.light.Bucket), 'without a limit there is no bucket');
    assert.deepEqual((await seen(page)).slice(6), ['mean', 'recent']);
  });

  await test('the sentences turn with the knobs', async () => {
    await show(page, open, 'pattern=steady&auto-rate=2&limit=10&at=5&paused');
    assert.deepEqual(await even(page), [
      'At an even 2 a second: full after 19 events.',
      'At an even 2 a second: 20.0 from event 11 on.',
      `At an even 2 a second: 20.5, which is ${(1 / (1 - Math.exp(-1 / 20)) - 20).toFixed(3)} above the rate.`,
      'At an even 2 a second: 20.0, where red reads 20.0.',
    ]);
    await type(page, 'auto-rate', '0.5');
    await type(page, 'last', '100');
    assert.deepEqual((await even(page)).slice(0, 2), [
      'At an even 0.5 a second: each event finds it empty.', 'At an even 0.5 a second: 5.00 from event 101 on.',
    ]);
    await type(page, 'limit', '0');
    assert.equal((await even(page))[0], 'There is none without a limit.');
  });

  await test('a wrong number is told, and nothing is lost', async () => {
    await show(page, open, `${script}&mean=on`);
    for (const wrong of ['0', '1001', 'ten', '']) {
      await type(page, 'last', wrong);
      assert.match(await page.textContent('#last-error'), /choose from 1 to 1000\. Still using 10\.$/);
      assert.equal(await page.getAttribute('#last', 'aria-invalid'), 'true');
    }
    await type(page, 'last', '3');
    assert.equal(await page.textContent('#last-error'), '');
    await settle(page);
    assert.equal(await page.textContent('#mean-of'), '3');
    await page.locator('#last').press('ArrowUp');
    assert.equal(await page.inputValue('#last'), '4');
  });

  await test('nothing moves when their words do, and axe is content', async () => {
    const links = ['auto-rate=2', 'limit=0&auto-rate=1000000', 'limit=0.5', 'auto-rate=0.7&last=1000'];
    await assertSteady(page, open, '.models', links.map((link) => `${link}&bucket=on&mean=on&recent=on`));
  });
});
