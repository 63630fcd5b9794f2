// The picture of the limiter's memory, on demand.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { address, column, crisp, noteTexts, plot, rest, settle, show, step, written } from './scope.mjs';

const log = 'limiter=sliding-log&auto=off&window=20s&at=13&paused&do=1:events*2,9:events*1,12:events*4';
const last = (n) => `remembers ${n} event${n === 1 ? '' : 's'} of the last 10\u202fs`;

pageTest('on demand it is drawn at the crosshair, on an axis of its own', crisp, async ({ page, open }) => {
  await noteTexts(page);
  await show(page, open, log);
  const { left, right, bottom } = await plot(page);
  const x = (at) => Math.round(right - (13 - at) * (right - left) / 20);
  const box = await page.locator('#graph').boundingBox();
  const remembers = async () => (await written(page)).find((text) => text.startsWith('remembers'));
  await rest(page, box.x + 1 + x(10.5), box.y + 150);
  assert.equal(await remembers(), undefined, 'a pointer alone shows no memory');
  await page.locator('#graph').focus();
  await page.keyboard.press('w');
  await settle(page);
  assert.equal(await remembers(), last(3));
  // Where nothing is drawn, the canvas is transparent.
  const shaded = async (at) => (await column(page, x(at)))[2 * (bottom - 20)] !== '#000000';
  assert.deepEqual([await shaded(0.2), await shaded(2.3), await shaded(11.5)], [false, true, false]);
  await rest(page, box.x + 1 + x(11.5), box.y + 150);
  assert.equal(await remembers(), last(1));
  assert.deepEqual([await shaded(1.2), await shaded(2.3)], [false, true]);
  // A click takes the crosshair away, until the pointer has moved and rested.
  await page.mouse.click(box.x + 1 + x(11.5), box.y + 150);
  await settle(page);
  assert.equal(await remembers(), last(6));
});

pageTest('a key shows it at the right edge, and a link keeps that', crisp, async ({ page, open }) => {
  await noteTexts(page);
  await show(page, open, log);
  await page.locator('#graph').focus();
  await page.keyboard.press('w');
  await settle(page);
  assert((await written(page)).includes(last(5)));
  assert(await page.locator('#memory').isChecked());
  assert.match(await page.textContent('#summary'), new RegExp(`Memory: ${last(5)}\\.$`));
  await address(page, 'memory=on');
  await page.keyboard.press('w');
  await settle(page);
  assert(!(await written(page)).includes(last(5)));
  assert.doesNotMatch(await page.textContent('#summary'), /Memory/);
});

pageTest('the tokens of a bucket come back', crisp, async ({ page, open }) => {
  await noteTexts(page);
  await show(page, open, 'limiter=token-bucket&auto=off&memory=on&at=1&paused&do=1:events*4');
  const said = async () => (await written(page)).find((text) => text.endsWith(' tokens'));
  assert.equal(await said(), '6 of 10 tokens');
  await step(page, 10);
  assert.equal(await said(), '7 of 10 tokens');
  await step(page, 30);
  assert.equal(await said(), '10 of 10 tokens');
});
