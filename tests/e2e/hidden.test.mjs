// A hidden tab: nothing is drawn, and on return the events of the gap are there and marked.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { column, events, hide, inks, noteTexts, plot, recording, showStopped, value, values, written } from './scope.mjs';

async function away(page, milliseconds) {
  await hide(page, true);
  await page.clock.runFor(milliseconds);
  await hide(page, false);
  await page.clock.runFor(50);
}

pageTest('a tab that was hidden', async ({ page, open, context, origin, test }) => {
  await noteTexts(page);
  await test('the events of the gap are there, and the gap is marked', async () => {
    await showStopped(page, open, 'pattern=steady&auto-rate=5&limit=0&at=20');
    await page.clock.runFor(1000);
    const before = await events(page);
    const picture = JSON.stringify(await written(page));
    await hide(page, true);
    await page.clock.runFor(20_000);
    assert.equal(JSON.stringify(await written(page)), picture, 'nothing is drawn while it is hidden');
    assert.equal(await events(page), before);
    await hide(page, false);
    await page.clock.runFor(50);
    assert(Math.abs(await events(page) - before - 100) <= 1);
    assert((await written(page)).includes('while hidden'));

    // The shade covers the 20 s, and neither what came before nor after.
    await page.clock.runFor(2000);
    const { left, right } = await plot(page);
    const shaded = async (ago) => (await column(page, Math.round(right - ago * (right - left) / 60))).includes(inks.light.Gap);
    assert.deepEqual(await Promise.all([1, 3, 12, 21, 24, 33].map(shaded)), [false, true, true, true, false, false]);
  });

  await test('the lines are those of a run that was watched', async () => {
    const run = 'auto-rate=5&limit=10&at=20';
    await showStopped(page, open, run);
    await away(page, 30_000);
    await page.locator('#pause').click();
    await page.clock.runFor(50);
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const link = await recording(page);
    const seen = await values(page, 'rate', 'smoothed', 'allowed', 'refused');

    const watched = await context.newPage();
    await watched.goto(`${origin}/#${link}`);
    await watched.waitForFunction(() => document.documentElement.dataset.started !== undefined);
    await watched.clock.runFor(50);
    assert.deepEqual(await values(watched, 'rate', 'smoothed', 'allowed', 'refused'), seen);
  });

  await test('a paused scope has no gap', async () => {
    await showStopped(page, open, 'auto-rate=5&at=20&paused');
    const before = await events(page);
    await away(page, 30_000);
    assert.equal(await events(page), before);
    assert(!(await written(page)).includes('while hidden'));
    await page.locator('#pause').click();
    await page.clock.runFor(1000);
    assert(await events(page) - before < 20);
  });

  await test('a glance away is no gap', async () => {
    await showStopped(page, open, 'pattern=steady&auto-rate=10&limit=0&at=20');
    const before = await events(page);
    await away(page, 500);
    assert(Math.abs(await events(page) - before - 5) <= 2);
    assert(!(await written(page)).some((text) => text.includes('hidden')));
  });

  await test('a page that did not run was not hidden', async () => {
    await showStopped(page, open, 'pattern=steady&auto-rate=5&limit=0&at=20');
    await page.clock.runFor(1000);
    const before = await events(page);
    await page.clock.fastForward(20_000); // as a machine that was asleep: no frame in between
    await page.clock.runFor(50);
    assert(Math.abs(await events(page) - before - 100) <= 1);
    const texts = await written(page);
    assert(texts.includes('while the page did not run'));
    assert(!texts.some((text) => text.includes('hidden')));
  });

  await test('at a million events a second the gap is bounded, and says so', async () => {
    await showStopped(page, open, 'pattern=steady&auto-rate=1000000&limit=0&decay=1s&window=10s');
    await page.clock.runFor(500);
    const before = await value(page, 'allowed');
    await hide(page, true);
    await page.clock.runFor(600_000);
    await hide(page, false);
    const started = Date.now();
    await page.clock.runFor(500); // frame by frame, each with a part of it
    assert(Date.now() - started < 10_000);
    const made = await value(page, 'allowed') - before;
    assert(made >= 5e6 && made < 6e6, `${made} events`);
    const note = (await written(page)).find((text) => text.startsWith('while hidden'));
    assert.match(note, /^while hidden; stood still for 9\u202fm 5[45]\u202fs$/);
  });
});
