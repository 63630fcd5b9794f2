// Pages that everybody can read.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { root } from './launch.mjs';
import { resize, show, until } from './scope.mjs';

// Fails if axe-core finds anything wrong on a page.
export async function assertClean(page, where) {
  // It is evaluated in the page, since the page's Content-Security-Policy lets no script be added.
  await page.evaluate(readFileSync(`${root}node_modules/axe-core/axe.min.js`, 'utf8'));
  await page.evaluate(() => {
    globalThis.found = undefined;
    // axe does not check by default whether targets have 24 pixels, or room around them.
    globalThis.axe.run({ rules: { 'target-size': { enabled: true } } }).then(({ violations }) => { globalThis.found = violations; });
  });
  await until(page, () => globalThis.found !== undefined);
  const found = (await page.evaluate(() => globalThis.found)).map(({ id, impact, nodes }) =>
    `${impact}: ${id} on ${nodes.map((node) => node.target).join(', ')}`);
  assert.deepEqual(found, [], where);
}

// Fails unless a box of the Scope has one height whatever these links make it say, and the page is clean, at any width.
export async function assertSteady(page, open, box, links) {
  for (const width of [1280, 900, 360]) {
    await resize(page, { width, height: 800 });
    const heights = [];
    for (const link of links) {
      await show(page, open, `${link}&at=5&paused`);
      heights.push(await page.$eval(box, (box) => box.clientHeight));
    }
    assert.deepEqual(heights, heights.map(() => heights[0]), `at ${width}`);
    assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `sideways at ${width}`);
    await assertClean(page, `at ${width}`);
  }
}
