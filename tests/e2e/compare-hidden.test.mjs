// A hidden tab: on return the events of the gap are there for every lane, and the gap is marked.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { allowed, compareStopped, counts, HEAD, PITCH, plots, sent, tall } from './compare.mjs';
import { clipboard, column, hide, inks, noteTexts, recording, written } from './scope.mjs';

pageTest('a comparison that was hidden', { ...tall, ...clipboard }, async ({ page, context, origin, open, test }) => {
  await noteTexts(page);
  await test('the events of the gap are there, and the gap is marked in every lane', async () => {
    await compareStopped(page, open, 'pattern=steady&auto-rate=0.5&at=20');
    await page.clock.runFor(1000);
    const before = await sent(page);
    const picture = JSON.stringify(await written(page));
    await hide(page, true);
    await page.clock.runFor(20_000);
    assert.equal(JSON.stringify(await written(page)), picture, 'nothing is drawn while it is hidden');
    assert.equal(await sent(page), before);
    await hide(page, false);
    await page.clock.runFor(150); // counters are written ten times a second
    assert(Math.abs(await sent(page) - before - 10) <= 1);
    // Half of what is allowed: every lane lets all of them pass.
    assert.deepEqual(await allowed(page), Array(8).fill(await sent(page)));
    assert((await written(page)).includes('while hidden'));

    // The shade covers the 20 s, and neither what came before nor after.
    await page.clock.runFor(2000);
    const { left, right } = await plots(page);
    for (const i of [0, 3, 7]) {
      const shaded = async (ago) => (await column(page, Math.round(right - ago * (right - left) / 60)))
        .slice(PITCH * i + HEAD, PITCH * (i + 1)).includes(inks.light.Gap);
      assert.deepEqual(await Promise.all([1, 3, 12, 21, 24, 33].map(shaded)), [false, true, true, true, false, false]);
    }
  });

  await test('the lanes are those of a run that was watched', async () => {
    await compareStopped(page, open, 'auto-rate=5&at=20');
    await hide(page, true);
    await page.clock.runFor(30_000);
    await hide(page, false);
    await page.clock.runFor(50);
    await page.locator('#pause').click();
    await page.clock.runFor(150);
    const link = await recording(page);
    const seen = await counts(page);
    const watched = await context.newPage();
    await watched.goto(`${origin}/compare.html#${link}`);
    await watched.waitForFunction(() => document.documentElement.dataset.started !== undefined);
    await watched.clock.runFor(50); // both pages have the stopped clock
    assert.deepEqual(await counts(watched), seen);
  });

  await test('a paused comparison has no gap', async () => {
    await compareStopped(page, open, 'auto-rate=5&at=20&paused');
    const before = await sent(page);
    await hide(page, true);
    await page.clock.runFor(30_000);
    await hide(page, false);
    await page.clock.runFor(150);
    assert.equal(await sent(page), before);
    assert(!(await written(page)).includes('while hidden'));
  });
});
