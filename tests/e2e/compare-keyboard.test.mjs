// The comparison without a mouse: what Tab reaches, that one sees where it is, and the whole flow.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { compare, counts, quiet, rules, sent } from './compare.mjs';
import { assertFocusIsSeen, focused, settle } from './scope.mjs';

// The first lane can't move up, nor the last one down.
const lanes = (n) => Array.from({ length: n }, (_, i) => [
  `Choose lane ${i + 1}`, `Lane ${i + 1}, its limiter`, `What is lane ${i + 1}`, ...(i > 0 ? [`Move up lane ${i + 1}`] : []),
  ...(i < n - 1 ? [`Move down lane ${i + 1}`] : []), `Remove lane ${i + 1}`,
]).flat();

const order = [
  'Skip to the settings', 'Scope', 'Compare', 'Tune', 'copy', 'theme', 'graph', ...lanes(8), 'add', 'add-lane',
  'Lower limit', 'limit', 'Higher limit', 'Lower cost', 'cost', 'Higher cost',
  'auto', 'pattern', 'auto-rate-slider', 'auto-rate', 'seed',
  'pause', 'step', 'reset', 'speed', 'window', 'script',
  'A burst at the window’s edge', 'Token bucket against sliding window', 'The relentless abuser', 'The repentant abuser', 'Steady, just under the limit',
  'Many small bursts', 'Slow start, then spam',
  'Ten days: a slow start, then spam at night', 'Expensive requests', 'Two users behind one address',
];

pageTest('without a mouse', async ({ page, open, test }) => {
  const tabTo = async (name) => {
    for (let i = 0; await focused(page) !== name; i++) {
      assert(i < 100, `${name} is not reached`);
      await page.keyboard.press('Tab');
    }
  };
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
    await settle(page);
  };

  await test('Tab reaches everything in the order in which it is read', async () => {
    await compare(page, open, quiet);
    for (const name of order) {
      await page.keyboard.press('Tab');
      assert.equal(await focused(page), name);
      if (name !== 'graph') await assertFocusIsSeen(page); // which is higher than this window
    }
    await page.keyboard.press('Shift+Tab');
    assert.equal(await focused(page), order.at(-2));
  });

  await test('the whole flow by keys', async () => {
    await compare(page, open, 'auto=off&lanes=token-bucket;sliding-log&limit=3/10s&at=20');
    await tabTo('graph');
    await press('p', 'r', 'Space', 'Space', 'Space', 'Space');
    assert.deepEqual(await counts(page), [[3, 1], [3, 1]]);
    for (let i = 0; i < 34; i++) await page.keyboard.press('s');
    await press('Space');
    // One comes back in 10/3 s; the log keeps all for 10 s.
    assert.deepEqual(await counts(page), [[4, 1], [3, 2]]);
    // There are only some seconds of it: nothing to look back at.
    await press('PageUp');
    assert(await page.locator('#live').isHidden());

    await tabTo('Lane 2, its limiter');
    await press('Control+a');
    await page.keyboard.type('gcra burst 5');
    await settle(page);
    await press('Alt+ArrowUp');
    assert.deepEqual(await rules(page), ['gcra burst 5', 'token-bucket']);
    await tabTo('add');
    await page.keyboard.type('fixed-window');
    await press('Enter');
    assert.deepEqual(await rules(page), ['gcra burst 5', 'token-bucket', 'fixed-window']);
    await press('Shift+Tab'); // its Remove
    assert.equal(await focused(page), 'Remove lane 3');
    await press('Enter');
    assert.deepEqual(await rules(page), ['gcra burst 5', 'token-bucket']);
    assert.equal(await focused(page), 'Lane 2, its limiter');

    await tabTo('limit');
    await press('ArrowUp');
    assert.equal(await page.inputValue('#limit'), '4/10s');
    await tabTo('auto');
    await press('Space');
    assert(await page.isChecked('#auto'));
    assert.equal(await sent(page), 5, 'Space on a control is no event');
    await tabTo('auto-rate-slider');
    await press('End');
    assert.equal(await page.inputValue('#auto-rate'), '10000');
    await press('Home');
    assert.match(await page.getAttribute('#auto-rate-slider', 'aria-valuetext'), /^0\.001\b/);
    await tabTo('reset');
    await press('Enter');
    assert.equal(await sent(page), 0);
    await tabTo('The relentless abuser');
    await press('Enter');
    await page.waitForFunction(() => Number(document.querySelector('#sent').dataset.value) >= 299);
  });

  await test('Live by keys, and the focus is not lost with it', async () => {
    await compare(page, open, 'auto-rate=2&at=50&paused&window=10s');
    await page.locator('#graph').focus();
    await press('PageUp');
    assert(await page.locator('#live').isVisible());
    await tabTo('live');
    await press('Enter');
    assert(await page.locator('#live').isHidden());
    assert.equal(await focused(page), 'graph');
  });

  await test('keys of the browser stay the browser’s', async () => {
    await compare(page, open, quiet);
    await page.locator('#graph').focus();
    const taken = await page.evaluate(() => ['Tab', 'Enter', 'F5', 'ArrowUp', 'r'].map((key) => {
      const event = new KeyboardEvent('keydown', { key, ctrlKey: key === 'r', bubbles: true, cancelable: true });
      document.querySelector('#graph').dispatchEvent(event);
      return event.defaultPrevented;
    }));
    assert.deepEqual(taken, [false, false, false, false, false]);
    // And a key in a box is a letter.
    await page.locator('.lane input').nth(0).focus();
    await press('p', 'Space');
    assert.deepEqual([await sent(page), await page.textContent('#pause')], [0, 'Run']);
  });
});
