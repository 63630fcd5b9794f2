// Fails if axe-core finds anything wrong on a page.

import assert from 'node:assert/strict';
import { axe } from './harness.mjs';

export async function assertClean(page, where) {
  const found = (await axe(page)).map(({ id, impact, nodes }) =>
    `${impact}: ${id} on ${nodes.map((node) => node.target).join(', ')}`);
  assert.deepEqual(found, [], where);
}
