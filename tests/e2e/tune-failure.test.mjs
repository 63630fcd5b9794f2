// A trap while a log is read is told, and a new Worker reads the next log.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { trap } from './trap.mjs';
import { choose, counted, log, says, text, tune } from './tune.mjs';

pageTest('a trap in the Worker', { allow: [/unreachable/] }, async ({ page, open }) => {
  await trap(page, 'ratescope_tune_bg.wasm', 'tuner_feed');
  await tune(page, open, 'period=10m');
  await choose(page, ['access.log', log({ '192.0.2.1': 30 })]);
  await says(page, 'problem', /^Reading failed: .*unreachable.* Your choices are kept\. Try another log, or a smaller one\.$/);
  assert(await page.locator('#progress').isHidden());
  assert(await page.locator('#failed').isHidden());
  await page.locator('#sample').click();
  await counted(page);
  assert.match(await text(page, 't-read'), /^100.000 requests/);
  assert.equal(await page.locator('#period').inputValue(), '10m');
  assert.equal(await text(page, 'problem'), '');
});
