// A hidden tab: nothing is drawn, and on return the events of the gap are there and marked.

import assert from 'node:assert/strict';
import { allowed, HEAD, PITCH, sent, tall } from './compare.mjs';
import { pageTest } from './harness.mjs';
import { clipboard, column, hide, inks, loaded, noteTexts, plot, recording, show, value, written } from './scope.mjs';
import { views } from './views.mjs';

// Where each view shades a gap: between two heights of the canvas, or of some lanes.
const shades = {
  scope: [[0, undefined]],
  compare: [0, 3, 7].map((i) => [PITCH * i + HEAD, PITCH * (i + 1)]),
};

async function away(page, milliseconds) {
  await hide(page, true);
  await page.clock.runFor(milliseconds);
  await hide(page, false);
  await page.clock.runFor(150); // readouts are written ten times a second
}

for (const [view, { begin, path, count, told }] of Object.entries(views)) {
  pageTest(`${view} in a tab that was hidden`, { ...tall, ...clipboard }, async ({ page, open, context, origin, test }) => {
    await noteTexts(page);
    await test('the events of the gap are there, and the gap is marked', async () => {
      await begin(page, open, 'pattern=steady&auto-rate=0.5&at=20');
      await page.clock.runFor(1000);
      const before = await count(page);
      const picture = JSON.stringify(await written(page));
      await hide(page, true);
      await page.clock.runFor(20_000);
      assert.equal(JSON.stringify(await written(page)), picture, 'nothing is drawn while it is hidden');
      assert.equal(await count(page), before);
      await hide(page, false);
      await page.clock.runFor(150);
      assert(Math.abs(await count(page) - before - 10) <= 1);
      // Events come at half the limit, so every lane lets all of them pass.
      if (view === 'compare') assert.deepEqual(await allowed(page), Array(8).fill(await sent(page)));
      assert((await written(page)).includes('while hidden'));

      // The shade covers the 20 s, and nothing before or after them.
      await page.clock.runFor(2000);
      const { left, right } = await plot(page);
      for (const [top, bottom] of shades[view]) {
        const shaded = async (ago) => (await column(page, Math.round(right - ago * (right - left) / 60)))
          .slice(top, bottom).includes(inks.light.Gap);
        assert.deepEqual(await Promise.all([1, 3, 12, 21, 24, 33].map(shaded)), [false, true, true, true, false, false]);
      }
    });

    await test('the run is that of one that was watched', async () => {
      await begin(page, open, 'auto-rate=5&at=20');
      await away(page, 30_000);
      await page.locator('#pause').click();
      await page.clock.runFor(150);
      const link = await recording(page);
      const seen = await told(page);
      const watched = await context.newPage();
      await watched.goto(`${origin}${path}#${link}`);
      await loaded(watched);
      assert.deepEqual(await told(watched), seen);
    });

    await test('what is paused has no gap', async () => {
      await begin(page, open, 'auto-rate=5&at=20&paused');
      const before = await count(page);
      await away(page, 30_000);
      assert.equal(await count(page), before);
      assert(!(await written(page)).includes('while hidden'));
      await page.locator('#pause').click();
      await page.clock.runFor(1000);
      assert(await count(page) - before < 20);
    });

    await test('a glance away is no gap', async () => {
      await begin(page, open, 'pattern=steady&auto-rate=10&at=20');
      const before = await count(page);
      await away(page, 500);
      assert(Math.abs(await count(page) - before - 6) <= 2);
      assert(!(await written(page)).some((text) => text.includes('hidden')));
    });

    await test('a page that did not run was not hidden', async () => {
      await begin(page, open, 'pattern=steady&auto-rate=5&at=20');
      await page.clock.runFor(1000);
      const before = await count(page);
      await page.clock.fastForward(20_000); // without a frame in between, as when a machine was asleep
      await page.clock.runFor(150);
      assert(Math.abs(await count(page) - before - 100) <= 1);
      const texts = await written(page);
      assert(texts.includes('while the page did not run'));
      assert(!texts.some((text) => text.includes('hidden')));
    });
  });
}

pageTest('at a million events a second the gap is bounded, and says so', async ({ page, open }) => {
  await noteTexts(page);
  await show(page, open, 'pattern=steady&auto-rate=1000000&limit=0&decay=1s&window=10s');
  await page.clock.runFor(500);
  const before = await value(page, 'allowed');
  await hide(page, true);
  await page.clock.runFor(600_000);
  await hide(page, false);
  await page.clock.runFor(500); // several frames, each of which generates a part of the gap
  const made = await value(page, 'allowed') - before;
  assert(made >= 5e6 && made < 6e6, `${made} events`);
  const note = (await written(page)).find((text) => text.startsWith('while hidden'));
  assert.match(note, /^while hidden; stood still for 9\u202fm 5[45]\u202fs$/);
});
