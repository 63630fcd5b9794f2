// Less motion: the graph is drawn about once a second, unless something is done.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { events, showStopped } from './scope.mjs';

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

pageTest('less motion for those who ask for it', { reducedMotion: 'reduce' }, async ({ page, open, test }) => {
  await countPictures(page);
  await showStopped(page, open, 'pattern=steady&auto-rate=20&limit=0');

  await test('one picture a second', async () => {
    const [before, drawn] = [await events(page), await picturesIn(page, 5000)];
    assert(drawn >= 4 && drawn <= 6, `${drawn} pictures in 5 s`);
    assert(Math.abs(await events(page) - before - 100) <= 3, 'the data go on');
  });

  await test('what is done is shown at once', async () => {
    const box = await page.locator('#graph').boundingBox();
    await page.mouse.move(box.x + 200, box.y + 200);
    assert(await picturesIn(page, 50) >= 1);
    const before = await events(page);
    await page.mouse.down();
    await page.mouse.up();
    assert(await picturesIn(page, 50) >= 1);
    assert(await events(page) > before);
    await page.mouse.move(1, 1);
    await picturesIn(page, 50);
    await page.locator('#limit').fill('7');
    assert.equal(await picturesIn(page, 50), 1);
  });

  await test('every frame otherwise, as soon as the browser tells', async () => {
    for (const [reducedMotion, least, most] of [['no-preference', 50, 70], ['reduce', 0, 2]]) {
      const told = page.evaluate(() => new Promise((done) => {
        matchMedia('(prefers-reduced-motion: reduce)').addEventListener('change', () => done(), { once: true });
      }));
      await page.emulateMedia({ reducedMotion });
      await told;
      await picturesIn(page, 100);
      const drawn = await picturesIn(page, 1000);
      assert(drawn >= least && drawn <= most, `${drawn} pictures in a second, ${reducedMotion}`);
    }
  });

  await test('a picture that stands still is not drawn again', async () => {
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    await page.locator('#pause').click();
    await picturesIn(page, 2500); // while it eases
    assert.equal(await picturesIn(page, 1000), 0);
    await page.locator('#step').click();
    assert(await picturesIn(page, 50) >= 1);
  });
});
