// The game: 40 requests in 30 seconds, and a link that replays the clicks.

import assert from 'node:assert/strict';
import { assertClean } from './clean.mjs';
import { pageTest } from './harness.mjs';
import { click, focused, loaded, press, settle, show, stopClock, type, values } from './scope.mjs';

const run = 'auto=off&limit=7&at=5&paused&do=1:events*3';
const said = async (page) => (await page.textContent('#game-said')).replaceAll('\u202f', ' ');
const isSeen = (page) => page.locator('#playing').isVisible();

// The verdict, once the time is over.
async function ends(page) {
  await page.clock.runFor(31_000);
  assert.equal(await page.textContent('#note'), 'paused');
  return said(page);
}

// Sends ten at once, and then one whenever there is room for it.
async function wins(page, send) {
  for (let i = 0; i < 10; i++) await send();
  for (let i = 0; i < 33; i++) {
    await page.clock.runFor(870);
    await send();
  }
}

pageTest('whoever keeps below the limit gets 40 through, by keys alone', async ({ page, open, test }) => {
  await show(page, open, run);
  await test('and the link replays it', async () => {
    await page.locator('#game').focus();
    await page.keyboard.press('Enter');
    await settle(page);
    assert.match(await said(page), /^Get 40 requests through in 30 s\./);
    assert.equal(await focused(page), 'graph');
    await wins(page, () => page.keyboard.press('Space'));
    assert.equal(await ends(page), 'You did it. 43 got through in 30 s, and none were refused.');
    await page.locator('#copy').click();
    const link = await page.evaluate(() => location.href);
    assert.match(link, /\?game#/);
  });

  await test('again, or not', async () => {
    await press(page, '#game-again');
    assert.deepEqual(await values(page, 'allowed', 'refused'), [0, 0]);
    await page.keyboard.press('Space');
    await page.keyboard.press('r');
    await settle(page);
    assert.deepEqual([await values(page, 'allowed', 'refused'), await isSeen(page)], [[0, 0], true]);
    await page.locator('#game-again').focus();
    await page.keyboard.press('Escape');
    await settle(page);
    assert.deepEqual([await isSeen(page), await focused(page)], [false, 'game']);
    assert.deepEqual([await values(page, 'allowed', 'refused'), await page.inputValue('#limit')], [[3, 0], '7']);
    assert.equal(await page.evaluate(() => location.search), '');
  });
});

pageTest('a link plays the clicks that it has, by the rules of the game, and then it is your turn', async ({ page, open }) => {
  await stopClock(page);
  await open('/?game#limit=1000&auto=on&at=30&paused&do=1:events*12,2:limit=0,1.5:events,20:events*30');
  await loaded(page);
  await page.waitForFunction(() => document.querySelector('#game-said').textContent !== '');
  assert.match(await said(page), /somebody else/);
  await page.clock.runFor(10_000);
  assert.deepEqual(await values(page, 'allowed', 'refused'), [12, 1]);
  assert.match(await ends(page), /^\d+ of 40 got through, and \d+ were refused\. Refused ones count, too/);
  await press(page, '#game-again');
  assert.match(await said(page), /^Get 40/);
  assert.deepEqual(await values(page, 'allowed', 'refused'), [0, 0]);
});

pageTest('too fast is refused, too slow leaves room', async ({ page, open, test }) => {
  await show(page, open, run);
  await press(page, '#game');
  for (let i = 0; i < 30; i++) await page.keyboard.press('Space');
  assert.match(await ends(page), /^12 of 40 got through, and 18 were refused\. Refused ones count, too/);
  await press(page, '#game-again');
  await click(page);
  assert.match(await ends(page), /^1 of 40 got through, and none were refused\. There was room for more/);

  await test('other settings and scenarios end it', async () => {
    await press(page, '#game-again');
    await type(page, 'limit', '100');
    await settle(page);
    assert.deepEqual([await isSeen(page), await page.evaluate(() => location.search)], [false, '']);
    await press(page, '#game');
    await page.getByRole('link', { name: 'A burst of ten' }).click();
    await settle(page);
    assert.deepEqual([await isSeen(page), await page.locator('#story').isVisible()], [false, true]);
    assert.equal(await page.evaluate(() => location.search), '');
  });
});

pageTest('by touch on a phone, with less motion', { viewport: { width: 360, height: 640 }, hasTouch: true, reducedMotion: 'reduce' }, async ({ page, open }) => {
  await show(page, open, run);
  await page.locator('#game').tap();
  await settle(page);
  const graph = await page.locator('#graph').boundingBox();
  await wins(page, () => page.touchscreen.tap(graph.x + graph.width / 2, graph.y + graph.height / 2));
  assert.match(await ends(page), /^You did it\. 43 got through/);
  await assertClean(page, 'the game');
});
