// The time of the comparison: steps, reset, and what the tags say of the past.

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
    // A bucket of ten that gets one back in ten steps.
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
    assert.equal(await page.textContent('#share-1'), '–');
    assert.equal(await page.inputValue('#limit'), '5/10s');
    await click(page, 1, 6);
    assert.deepEqual((await counts(page))[2], [5, 1]);
  });
});

pageTest('looking back, the tags say what the lanes said', tall, async ({ page, open }) => {
  await noteTexts(page);
  // Eight in use at 2 s, one back in a second: none is left at 45 s.
  await compare(page, open, 'auto=off&lanes=token-bucket&window=10s&at=12&paused&do=2:events*8');
  await page.mouse.move(1, 1);
  await settle(page);
  assert((await written(page)).includes('0 of 10'));
  await page.locator('#graph').focus();
  await page.keyboard.press('PageUp');
  // At 7 s five came back; what is known is from within 16 ms of it.
  await settle(page);
  assert((await written(page)).includes('at 7\u202fs'));
  assert((await written(page)).some((text) => /^(3|3\.0\d|2\.9\d) of 10$/.test(text)), (await written(page)).join());
});
