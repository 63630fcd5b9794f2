// The time of the comparison: steps, reset, and the levels on the tags while one looks back.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { click, compare, counts, quiet, sent, tall } from './compare.mjs';
import { noteTexts, press, settle, step, type, written } from './scope.mjs';

pageTest('steps and reset', tall, async ({ page, open, test }) => {
  await test('a step is a tenth of a second, and stops a run', async () => {
    await compare(page, open, 'auto=off&lanes=token-bucket&at=5');
    await press(page, '#step');
    assert.equal(await page.textContent('#pause'), 'Run');
    assert.equal(await page.textContent('#note'), 'paused');
    // The bucket holds ten tokens, and gets one back in ten steps.
    await click(page, 1, 11);
    assert.deepEqual(await counts(page), [[10, 1]]);
    await step(page, 9);
    await click(page, 1);
    assert.deepEqual(await counts(page), [[10, 2]]);
    await step(page, 1);
    await click(page, 1, 2);
    assert.deepEqual(await counts(page), [[11, 3]]);
  });

  await test('a reset begins again with the settings of now', async () => {
    await compare(page, open, `${quiet}&do=1:events*12`);
    assert.equal(await sent(page), 12);
    await type(page, 'limit', '5/10s');
    await press(page, '#reset');
    assert.equal(await sent(page), 0);
    assert.deepEqual(await counts(page), Array(8).fill([0, 0]));
    assert.equal(await page.inputValue('#limit'), '5/10s');
    await click(page, 1, 6);
    assert.deepEqual((await counts(page))[2], [5, 1]);
  });
});

pageTest('looking back, the tags say what the lanes said', tall, async ({ page, open }) => {
  await noteTexts(page);
  // Eight tokens are used at 2 s, and one comes back each second: at 12 s none is in use.
  await compare(page, open, 'auto=off&lanes=token-bucket&window=10s&at=12&paused&do=2:events*8');
  await page.mouse.move(1, 1);
  await settle(page);
  assert((await written(page)).includes('0 of 10'));
  await page.locator('#graph').focus();
  await page.keyboard.press('PageUp');
  // By 7 s five have come back, so three are in use. The level is known within 16 ms of that instant.
  await settle(page);
  assert((await written(page)).includes('at 7\u202fs'));
  assert((await written(page)).some((text) => /^(3|3\.0\d|2\.9\d) of 10$/.test(text)), (await written(page)).join());
});
