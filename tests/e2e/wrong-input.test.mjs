// Wrong text says what is wrong beside its box, and the last good value stays in force.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { address, click, close, events, press, settle, show, step, type, value, wrong as wrongOf } from './scope.mjs';

const boxes = {
  decay: { good: '20s', wrong: ['abc', '-10', '', '-5s', '1e9h', '2w'] },
  increase: { good: '5s', wrong: ['', '-5s', '0s', '5 x'] },
  limit: { good: '12', wrong: ['abc', '', '-1', 'NaN', '10/1x'] },
  'auto-rate': { good: '30', wrong: ['', '0', '2000000', '1,5'] },
  seed: { good: '4', wrong: ['', '-1', '1.5', '99999999999999999999999'] },
};

pageTest('wrong text', async ({ page, open, test }) => {
  await test('wrong text says what is wrong, and changes nothing', async () => {
    await show(page, open, 'auto=off&limit=0&at=5&paused&do=1:events*3');
    for (const [id, { good, wrong }] of Object.entries(boxes)) {
      await type(page, id, good);
      for (const text of wrong) {
        await type(page, id, text);
        const [message, invalid] = await wrongOf(page, id);
        assert(message.endsWith(`Still using ${good}.`), `'${text}': ${message}`);
        assert(message.length > 20, `'${text}': ${message}`);
        assert.equal(invalid, 'true');
      }
      // The error is below the box, within the same field, and the box names it as its description.
      const [box, beside] = await Promise.all(
        [`#${id}`, `#${id}-error`].map((selector) => page.locator(selector).boundingBox()),
      );
      assert(beside.y >= box.y + box.height - 1 && beside.y - box.y - box.height < 30);
      assert((await page.getAttribute(`#${id}`, 'aria-describedby')).includes(`${id}-error`));
      // The address has the settings in force.
      await address(page, `${id}=${good}`);
      await type(page, id, good);
      assert.deepEqual(await wrongOf(page, id), ['', 'false']);
    }
    assert.equal(await events(page), 3);
  });

  await test('wrong text stays to be corrected, whatever else is done', async () => {
    await show(page, open, 'auto=off&limit=0&at=5&paused&do=1:events*3');
    const before = await value(page, 'rate');
    await type(page, 'decay', '20 x');
    await type(page, 'seed', 'x');
    await page.locator('#mode').selectOption('leaky');
    await step(page, 10);
    await click(page);
    assert.equal(await page.inputValue('#decay'), '20 x');
    const [message, invalid] = await wrongOf(page, 'decay');
    assert.equal(invalid, 'true');
    assert.match(message, /Still using 10s\.$/);
    assert.equal(await page.inputValue('#seed'), 'x');
    // The good value was in force all the time.
    assert.equal(await page.textContent('#rate-unit'), 'per 10\u202fs');
    const x = 0.1 * 5;
    assert(close(await value(page, 'rate'), -Math.expm1(-x) / x + before * Math.exp(-0.1)));

    await type(page, 'decay', '20s');
    assert.deepEqual(await wrongOf(page, 'decay'), ['', 'false']);
    assert.equal(await page.textContent('#rate-unit'), 'per 20\u202fs');
    assert.equal(await page.inputValue('#seed'), 'x');
  });

  await test('a button or a key replaces wrong text by the next good value', async () => {
    await show(page, open, 'auto=off&limit=10&at=5&paused');
    await type(page, 'decay', 'abc');
    await press(page, '[data-step=decay][data-by="1"]');
    assert.equal(await page.inputValue('#decay'), '15s');
    assert.deepEqual(await wrongOf(page, 'decay'), ['', 'false']);
    await type(page, 'limit', 'abc');
    await page.locator('#graph').focus();
    await page.keyboard.press('ArrowUp');
    await settle(page);
    assert.equal(await page.inputValue('#limit'), '11');
    assert.deepEqual(await wrongOf(page, 'limit'), ['', 'false']);
  });

  await test('a wrong box does not shift the graph', async () => {
    await show(page, open, 'paused&at=5');
    const before = await page.locator('#graph').boundingBox();
    for (const id of Object.keys(boxes)) await type(page, id, 'abc');
    await page.evaluate(() => scrollTo(0, 0));
    assert.deepEqual(await page.locator('#graph').boundingBox(), before);
  });
});
