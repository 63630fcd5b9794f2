// The crosshair by mouse and by keys, and what a screen reader hears of it.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { column, crisp, inks, lines, noteTexts, plot, rest, settle, show, written } from './scope.mjs';

const run = 'auto=off&limit=3&window=10s&at=9&paused&do=2:events*3,5:events';

// Both rates of that run at a time after its last event.
const expected = (now) => lines([2, 2, 2, 5], now, 10, 60);

const three = (value) => Number(value).toPrecision(3);

pageTest('the mouse shows exact values where it is', crisp, async ({ page, open }) => {
  await noteTexts(page);
  await show(page, open, run);
  const { left, right } = await plot(page);
  const box = await page.locator('#graph').boundingBox();
  const point = async (ago) => {
    const x = Math.round(right - ago * (right - left) / 10);
    await rest(page, box.x + 1 + x, box.y + 150);
    const line = await column(page, x);
    assert(line.filter((ink) => ink === inks.light.Crosshair).length > 200, `no crosshair at ${x}`);
    const exactly = 9 - (right - x) * 10 / (right - left);
    return [expected(exactly).map(three), (await written(page)).join('\n')];
  };

  const [[rate, smoothed], words] = await point(2);
  assert.match(words, new RegExp(`at [67](\\.\\d+)?\u202fs\nrate ${rate} per 10\u202fs, .*\nsmoothed ${smoothed} per 10\u202fs`));
  assert.match(words, /exactly 4 events in the last 10\u202fs/);
  // On an event: its verdict and the reason.
  const refused = (await point(4))[1];
  const judged = three(expected(5)[0]);
  assert.match(refused, new RegExp(`refused: rate ${judged} per 10\u202fs, limit 3\nallowed again in `));
  assert.match((await point(7))[1], /^(3 allowed, 0|2 allowed, 1) refused$/m);

  // Where only a setting changed, there is no verdict.
  await show(page, open, `${run},6:increase=30s`);
  assert.doesNotMatch((await point(3))[1], /(refused|allowed)[:,]/);

  await page.mouse.move(5, 5);
  await settle(page);
  assert(!(await written(page)).some((text) => text.startsWith('exactly ')), 'the crosshair has gone');
});

pageTest('keys move it, and the summary says it', async ({ page, open }) => {
  await show(page, open, run);
  assert.equal(await page.getAttribute('#summary', 'aria-live'), 'polite');
  const summary = () => page.textContent('#summary');
  assert.match(await summary(), /^Refused: 3\.\d+, limit 3\. Rate .* per 10\u202fs, limit 3\. 3 allowed, 1 refused\.$/);
  await page.locator('#graph').focus();
  for (let i = 0; i < 10; i++) await page.keyboard.press('Shift+ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowRight');
  await settle(page);
  const { left, right } = await plot(page);
  const [rate, smoothed] = expected(9 - 1000 / (right - left)).map(three);
  const words = await summary();
  assert.match(words, new RegExp(`^at [\\d.]+.s\\. rate ${rate} per 10\u202fs, .* smoothed ${smoothed} per 10\u202fs`));
  await page.keyboard.press('Escape');
  await settle(page);
  assert.match(await summary(), /^Refused: /);
});
