// axe-core finds nothing on the comparison, in any dress.

import assert from 'node:assert/strict';
import { assertClean, assertCleanInAnyDress } from './clean.mjs';
import { compare, lane, quiet } from './compare.mjs';
import { pageTest } from './harness.mjs';
import { type } from './scope.mjs';

pageTest('axe finds nothing, light and dark, wide and narrow', async ({ page, open }) => {
  await compare(page, open, `${quiet}&at=20&do=1:events*30`);
  await assertClean(page, 'at first');
  const headings = await page.$$eval('h1, h2, h3', (all) =>
    all.filter((h) => h.checkVisibility()).map((h) => `${h.tagName} ${h.textContent}`));
  assert.deepEqual(headings, ['H1 Ratescope', 'H2 Scenarios', 'H2 What a lane shows', 'H3 The limiters', 'H3 Keys, on the lanes']);
  assert.equal(await page.locator('main').count(), 1);
  assert.equal(await page.getAttribute('html', 'lang'), 'en');
  // With everything that can appear: wrong boxes, looking back, the note.
  for (const id of ['limit', 'cost', 'auto-rate', 'seed', 'script', 'add']) await type(page, id, 'abc');
  await page.locator('#add').press('Enter');
  await lane(page, 2).fill('abc');
  await page.locator('#graph').focus();
  await page.keyboard.press('PageUp');
  await assertCleanInAnyDress(page);
});
