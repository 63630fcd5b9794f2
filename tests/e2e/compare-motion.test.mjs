// Less motion: the lanes are drawn about once a second, unless something is done.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { compareStopped, HEAD, place, sent } from './compare.mjs';
import { countPictures, picturesIn, prefer } from './scope.mjs';

pageTest('less motion for those who ask for it', { reducedMotion: 'reduce' }, async ({ page, open, test }) => {
  await countPictures(page);
  await compareStopped(page, open, 'pattern=steady&auto-rate=20');

  await test('one picture a second', async () => {
    const [before, drawn] = [await sent(page), await picturesIn(page, 5000)];
    assert(drawn >= 4 && drawn <= 6, `${drawn} pictures in 5 s`);
    assert(Math.abs(await sent(page) - before - 100) <= 3, 'the data go on');
  });

  await test('what is done is shown at once', async () => {
    const at = await place(page, 300, HEAD + 30);
    await page.mouse.move(...at);
    assert(await picturesIn(page, 50) >= 1);
    await page.mouse.down();
    await page.mouse.up();
    assert(await picturesIn(page, 50) >= 1);
    await page.mouse.move(1, 1);
    await picturesIn(page, 50);
    await page.locator('#limit').fill('7/10s');
    assert.equal(await picturesIn(page, 50), 1);
    await page.locator('.lane input').first().fill('gcra');
    assert.equal(await picturesIn(page, 50), 1);
  });

  await test('every frame otherwise, but not when it stands still', async () => {
    await prefer(page, 'no-preference');
    await picturesIn(page, 100);
    const drawn = await picturesIn(page, 1000);
    assert(drawn >= 50 && drawn <= 70, `${drawn} pictures in a second`);
    await page.locator('#pause').click();
    await picturesIn(page, 2500); // while it eases
    assert.equal(await picturesIn(page, 1000), 0);
    await page.locator('#step').click();
    assert(await picturesIn(page, 50) >= 1);
  });
});
