// Everything without a mouse: what Tab reaches, that one sees where it is, and the whole flow.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { assertFocusIsSeen, events, focused, settle, show, value, values } from './scope.mjs';

const order = [
  'Skip to the settings', 'Scope', 'Compare', 'Tune', 'copy', 'theme', 'graph',
  'Shorter decay interval', 'decay', 'Longer decay interval',
  'Shorter increase interval', 'increase', 'Longer increase interval', 'exact',
  'Lower limit', 'limit', 'Higher limit', 'Copy', 'mode', 'ghost',
  'auto', 'pattern', 'auto-rate-slider', 'auto-rate', 'seed',
  'pause', 'step', 'reset', 'speed', 'window', 'bucket', 'mean', 'last', 'recent',
  'A burst of ten', 'Steady, just below the limit', 'Stop, and watch it decay', 'Strict against leaky',
  'Exim specification',
];

pageTest('without a mouse', async ({ page, open, test }) => {
  await test('Tab reaches everything in the order in which it is read', async () => {
    await show(page, open, 'auto=off&at=5&paused');
    for (const name of order) {
      await page.keyboard.press('Tab');
      assert.equal(await focused(page), name);
      await assertFocusIsSeen(page);
    }
    await page.keyboard.press('Shift+Tab');
    assert.equal(await focused(page), order.at(-2));
  });

  await test('the whole flow by keys', async () => {
    const tabTo = async (name) => {
      for (let i = 0; await focused(page) !== name; i++) {
        assert(i < 60, `${name} is not reached`);
        await page.keyboard.press('Tab');
      }
    };
    const press = async (...keys) => {
      for (const key of keys) await page.keyboard.press(key);
      await settle(page);
    };
    await show(page, open, 'auto=off&at=20&limit=3');
    await tabTo('graph');
    await press('p', 'r', 'Space', 'Space', 'Space', 'Space');
    assert.deepEqual(await values(page, 'allowed', 'refused'), [3, 1]);
    assert(Math.abs(await value(page, 'rate') - 4) < 1e-6);
    for (let i = 0; i < 10; i++) await press('s');
    assert(Math.abs(await value(page, 'rate') - 4 * Math.exp(-0.1)) < 1e-6);
    await press('ArrowUp', 'ArrowUp');
    assert.equal(await page.inputValue('#limit'), '5');
    // There is only a second of it: nothing to look back at.
    await press('PageUp');
    assert(await page.locator('#live').isHidden());

    await tabTo('decay');
    await press('Control+a', '2', '0', 's');
    assert.equal(await page.textContent('#rate-unit'), 'per 20s');
    await tabTo('mode');
    await press('l');
    assert.equal(await page.inputValue('#mode'), 'leaky');
    await tabTo('auto');
    await press('Space');
    assert(await page.isChecked('#auto'));
    assert.equal(await events(page), 4, 'Space on a control is no event');
    await tabTo('auto-rate-slider');
    await press('End');
    assert.equal(await page.inputValue('#auto-rate'), '1000000');
    await press('Home');
    await tabTo('step');
    await press('Enter', 'Space');
    await tabTo('reset');
    await press('Enter');
    assert.equal(await events(page), 0);
    await tabTo('A burst of ten');
    await press('Enter');
    // Three seconds later it has one more, which a busy machine may come to see first.
    await page.waitForFunction(() => Number(document.querySelector('#allowed').dataset.value) >= 10);
  });

  await test('Live by keys, and the focus is not lost with it', async () => {
    await show(page, open, 'auto-rate=2&at=50&paused&window=10s');
    await page.locator('#graph').focus();
    await page.keyboard.press('PageUp');
    await settle(page);
    assert(await page.locator('#live').isVisible());
    await page.keyboard.press('Tab');
    assert.equal(await focused(page), 'live');
    await page.keyboard.press('Enter');
    await settle(page);
    assert(await page.locator('#live').isHidden());
    assert.equal(await focused(page), 'graph');
  });

  await test('keys of the browser stay the browser’s', async () => {
    await show(page, open, 'auto=off&at=5&paused');
    await page.locator('#graph').focus();
    const taken = await page.evaluate(() => ['Tab', 'Enter', 'F5', 'r'].map((key) => {
      const event = new KeyboardEvent('keydown', { key, ctrlKey: key === 'r', bubbles: true, cancelable: true });
      document.querySelector('#graph').dispatchEvent(event);
      return event.defaultPrevented;
    }));
    assert.deepEqual(taken, [false, false, false, false]);
  });
});
