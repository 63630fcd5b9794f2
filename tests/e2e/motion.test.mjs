// Less motion: the graph is drawn about once a second, unless something is done.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { click, events, show, showStopped, value } from './scope.mjs';

// Counts pictures: each begins by clearing the last.
const countPictures = (page) => page.addInitScript(() => {
  const { clearRect } = CanvasRenderingContext2D.prototype;
  globalThis.pictures = 0;
  CanvasRenderingContext2D.prototype.clearRect = function (...args) {
    globalThis.pictures++;
    return clearRect.apply(this, args);
  };
});

async function picturesIn(page, milliseconds) {
  const before = await page.evaluate(() => globalThis.pictures);
  await page.clock.runFor(milliseconds);
  return await page.evaluate(() => globalThis.pictures) - before;
}

pageTest('reduced motion draws once a second', { reducedMotion: 'reduce' }, async ({ page, open }) => {
  await countPictures(page);
  await showStopped(page, open, 'pattern=steady&auto-rate=20&limit=0');
  const [before, drawn] = [await events(page), await picturesIn(page, 10_000)];
  assert(drawn >= 9 && drawn <= 11, `${drawn} pictures in 10 s`);
  assert(Math.abs(await events(page) - before - 200) <= 3, 'the data go on');

  // What is done is shown at once.
  const box = await page.locator('#graph').boundingBox();
  await page.mouse.move(box.x + 200, box.y + 200);
  assert(await picturesIn(page, 50) >= 1);
  await page.mouse.move(1, 1);
  await picturesIn(page, 50);
  await page.locator('#limit').fill('7');
  assert.equal(await picturesIn(page, 50), 1);
});

pageTest('otherwise every frame is drawn', async ({ page, open }) => {
  await countPictures(page);
  await showStopped(page, open, 'pattern=steady&auto-rate=20&limit=0');
  assert(await picturesIn(page, 1000) > 50);
  // The setting is heard while the page is open.
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await picturesIn(page, 100);
  assert(await picturesIn(page, 3000) <= 4);
});

pageTest('a click is seen at once with reduced motion', { reducedMotion: 'reduce' }, async ({ page, open }) => {
  await show(page, open, 'auto=off&limit=0');
  await click(page);
  assert(await value(page, 'rate') > 0.99);
});
