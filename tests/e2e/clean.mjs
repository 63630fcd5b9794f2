// What axe-core must not find on either page.

import assert from 'node:assert/strict';
import { axe } from './harness.mjs';
import { resize } from './scope.mjs';

export async function assertClean(page, where) {
  const found = (await axe(page)).map(({ id, impact, nodes }) =>
    `${impact}: ${id} on ${nodes.map((node) => node.target).join(', ')}`);
  assert.deepEqual(found, [], where);
}

// Light and dark, wide and narrow, on a page that looks back.
export async function assertCleanInAnyDress(page) {
  for (const colorScheme of ['light', 'dark']) {
    for (const viewport of [{ width: 1280, height: 800 }, { width: 360, height: 740 }]) {
      await page.emulateMedia({ colorScheme });
      await resize(page, viewport);
      assert(await page.locator('#live').isVisible());
      await assertClean(page, `${colorScheme}, ${viewport.width} pixels wide`);
    }
  }
}
