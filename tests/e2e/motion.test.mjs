// Less motion: the picture is drawn about once a second, unless something is done.

import assert from 'node:assert/strict';
import { HEAD, place } from './compare.mjs';
import { pageTest } from './harness.mjs';
import { countPictures, picturesIn, prefer } from './scope.mjs';
import { views } from './views.mjs';

const writes = { scope: ['#limit', '7'], compare: ['#limit', '7/10s'] };

for (const [view, { begin, count }] of Object.entries(views)) {
  pageTest(`less motion on ${view}, for those who ask for it`, { reducedMotion: 'reduce' }, async ({ page, open, test }) => {
    await countPictures(page);
    // In a window this short the picture moves in each frame by so much that it is drawn.
    await begin(page, open, 'pattern=steady&auto-rate=20&window=30s');

    await test('one picture a second', async () => {
      const [before, drawn] = [await count(page), await picturesIn(page, 5000)];
      assert(drawn >= 4 && drawn <= 6, `${drawn} pictures in 5 s`);
      assert(Math.abs(await count(page) - before - 100) <= 3, 'the data go on');
    });

    await test('what is done is shown at once', async () => {
      await page.mouse.move(...await place(page, 300, HEAD + 30));
      assert(await picturesIn(page, 50) >= 1);
      const before = await count(page);
      await page.mouse.down();
      await page.mouse.up();
      assert(await picturesIn(page, 50) >= 1);
      assert(await count(page) > before);
      await page.mouse.move(1, 1);
      await picturesIn(page, 50);
      const [box, text] = writes[view];
      await page.locator(box).fill(text);
      assert.equal(await picturesIn(page, 50), 1);
    });

    await test('every frame otherwise, as soon as the browser tells', async () => {
      for (const [reducedMotion, least, most] of [['no-preference', 50, 70], ['reduce', 0, 2]]) {
        await prefer(page, { reducedMotion });
        await picturesIn(page, 100);
        const drawn = await picturesIn(page, 1000);
        assert(drawn >= least && drawn <= most, `${drawn} pictures in a second, ${reducedMotion}`);
      }
    });

    await test('a picture that stands still is not drawn again', async () => {
      await prefer(page, { reducedMotion: 'no-preference' });
      await page.locator('#pause').click();
      await picturesIn(page, 2500); // while it eases
      assert.equal(await picturesIn(page, 1000), 0);
      await page.locator('#step').click();
      assert(await picturesIn(page, 50) >= 1);
    });

    // Only on the Scope: on the lanes, the scale of the totals follows each event.
    if (view === 'scope') await test('a slow picture when it has moved by half a pixel', async () => {
      await begin(page, open, 'window=1m');
      await picturesIn(page, 2500); // while it eases
      const moved = await page.$eval('#graph', ({ clientWidth }) => clientWidth / 60 * devicePixelRatio);
      const drawn = await picturesIn(page, 2000);
      assert(drawn > moved && drawn <= 4 * moved, `${drawn} pictures while it moved by ${2 * moved} pixels`);
    });
  });
}
