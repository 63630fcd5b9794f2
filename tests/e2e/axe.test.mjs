// axe-core finds nothing wrong, in either theme and at any width.

import assert from 'node:assert/strict';
import { assertClean } from './clean.mjs';
import { compare, opened, quiet } from './compare.mjs';
import { pageTest } from './harness.mjs';
import { click, prefer, resize, show, type } from './scope.mjs';
import { choose, sampled, says, tune } from './tune.mjs';

// How each view is opened, its headings, and actions that show things which rarely appear: wrong boxes, looking back,
// the note.
const views = {
  scope: {
    begin: (page, open) => show(page, open, 'auto-rate=2&at=20&paused'),
    headings: [
      'H2 Try', 'H2 The lines and the limit', "H3 Red: Exim's rate", 'H3 Blue: the smoothed rate',
      'H3 The limit: what it lets through', 'H3 The limit: when it is free again',
    ],
    async disturb(page) {
      for (const id of ['decay', 'increase', 'limit', 'auto-rate', 'seed']) await type(page, id, 'abc');
      await click(page);
    },
  },
  compare: {
    begin: (page, open) => compare(page, open, `${quiet}&at=20&do=1:events*30`),
    headings: ['H2 Reading a lane', 'H3 The limiters'],
    async disturb(page) {
      for (const id of ['limit', 'cost', 'auto-rate', 'seed', 'script', 'add']) await type(page, id, 'abc');
      await page.locator('#add').press('Enter');
      await (await opened(page, 2)).fill('abc');
    },
  },
  tune: {
    async begin(page, open) {
      await tune(page, open);
      await assertClean(page, 'without a log');
      await sampled(page, open, 'for=exim');
      await page.locator('#periods').waitFor();
    },
    headings: [
      'H2 exim4.conf', 'H2 Clients', 'H2 Refused paths', 'H2 Refused agents', 'H2 Other periods', 'H2 Reading the curve',
      'H3 Keys, on the graph',
    ],
    async disturb(page) {
      await page.locator('#more summary').click();
      for (const id of ['limit', 'untouched', 'period', 'status', 'year']) await page.locator(`#${id}`).fill('abc');
      await page.locator('#paste').click();
      await page.locator('#t-clients button').first().click();
      await choose(page, ['no.log', 'nothing\n']);
      await says(page, 'problem', /unknown/);
    },
  },
};

for (const [view, { begin, headings, disturb }] of Object.entries(views)) {
  pageTest(`axe finds nothing on ${view}, light and dark, wide and narrow`, async ({ page, open }) => {
    await begin(page, open);
    await assertClean(page, 'at first');
    const found = await page.$$eval('h1, h2, h3', (all) =>
      all.filter((h) => h.checkVisibility()).map((h) => `${h.tagName} ${h.textContent}`));
    assert.deepEqual(found, ['H1 Ratescope', ...headings]);
    assert.equal(await page.locator('main').count(), 1);
    assert.equal(await page.getAttribute('html', 'lang'), 'en');
    // A screen reader would read out each number that changes, so it reads the summary instead.
    const spoken = await page.$$eval('output', (all) =>
      all.filter((output) => output.closest('[aria-live]')?.ariaLive !== 'off').map(({ id }) => id));
    assert.deepEqual(spoken, []);
    await disturb(page);
    if (view !== 'tune') {
      await page.locator('#graph').focus();
      await page.keyboard.press('PageUp');
    }
    for (const colorScheme of ['light', 'dark']) {
      for (const viewport of [{ width: 1280, height: 800 }, { width: 360, height: 740 }]) {
        await prefer(page, { colorScheme });
        await resize(page, viewport);
        if (view !== 'tune') assert(await page.locator('#live').isVisible());
        // Above, the button to go on sticks to the edge of the window, over a part of some lane.
        await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
        await assertClean(page, `${colorScheme}, ${viewport.width} pixels wide`);
      }
    }
  });
}
