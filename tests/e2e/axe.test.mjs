// axe-core finds nothing, in any dress.

import assert from 'node:assert/strict';
import { assertClean, assertCleanInAnyDress } from './clean.mjs';
import { pageTest } from './harness.mjs';
import { click, show, type } from './scope.mjs';

pageTest('axe finds nothing, light and dark, wide and narrow', async ({ page, open }) => {
  await show(page, open, 'auto-rate=2&at=20&paused');
  await assertClean(page, 'at first');
  const headings = await page.$$eval('h1, h2, h3', (all) =>
    all.filter((h) => h.checkVisibility()).map((h) => `${h.tagName} ${h.textContent}`));
  assert.deepEqual(headings, [
    'H1 Ratescope', 'H2 Try it', 'H2 What the lines and the limit say', "H3 Red: Exim's rate",
    'H3 Blue: the smoothed rate', 'H3 The limit: what it lets through', 'H3 The limit: when it is free again',
    'H3 Keys, on the graph',
  ]);
  assert.equal(await page.locator('main').count(), 1);
  assert.equal(await page.getAttribute('html', 'lang'), 'en');
  // With everything that can appear: wrong boxes, looking back, the note.
  for (const id of ['decay', 'increase', 'limit', 'auto-rate', 'seed']) await type(page, id, 'abc');
  await click(page);
  await page.locator('#graph').focus();
  await page.keyboard.press('PageUp');
  await assertCleanInAnyDress(page);
});
