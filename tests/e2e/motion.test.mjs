// Less motion: the graph is drawn about once a second, unless something is done.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { countPictures, events, picturesIn, prefer, showStopped } from './scope.mjs';

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
      await prefer(page, reducedMotion);
      await picturesIn(page, 100);
      const drawn = await picturesIn(page, 1000);
      assert(drawn >= least && drawn <= most, `${drawn} pictures in a second, ${reducedMotion}`);
    }
  });

  await test('a picture that stands still is not drawn again', async () => {
    await prefer(page, 'no-preference');
    await page.locator('#pause').click();
    await picturesIn(page, 2500); // while it eases
    assert.equal(await picturesIn(page, 1000), 0);
    await page.locator('#step').click();
    assert(await picturesIn(page, 50) >= 1);
  });
});
