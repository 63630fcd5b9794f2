// Everything without a mouse: what Tab reaches, that the focus is seen, and the whole flow.

import assert from 'node:assert/strict';
import { compare, counts, quiet, rules, sent } from './compare.mjs';
import { pageTest } from './harness.mjs';
import { assertFocusIsSeen, events, focused, settle, show, until, value, values } from './scope.mjs';
import { views } from './views.mjs';

const scope = [
  'Skip to the settings', 'Scope', 'Story', 'Compare', 'Tune', 'copy', 'theme',
  'game', 'A burst of ten', 'Steady, just below the limit', 'Stop, and watch it decay', 'Strict against leaky', 'Let blue set the limit', 'add-event', 'graph',
  'limiter-kind', 'configure', 'Lower limit', 'limit', 'Higher limit', 'Choose one from your own log', 'mode',
  'Shorter decay interval', 'decay', 'Longer decay interval',
  'Shorter increase interval', 'increase', 'Longer increase interval',
  'auto', 'pattern', 'auto-rate-slider', 'auto-rate', 'pause', 'reset', 'window', 'sound', 'Keys',
  'More settings',
  'limiter', 'exim-copy', 'speed', 'step', 'seed', 'exact', 'memory', 'ghost', 'bucket', 'mean', 'last', 'recent', 'rate-2009',
  'Exim specification',
];

// The first lane can't move up, nor the last one down.
const lanes = (n) => Array.from({ length: n }, (_, i) => [
  `Choose lane ${i + 1}`, `Write another limiter in lane ${i + 1}`, `What is lane ${i + 1}`, `Configuration of lane ${i + 1}`, ...(i > 0 ? [`Move up lane ${i + 1}`] : []),
  ...(i < n - 1 ? [`Move down lane ${i + 1}`] : []), `Remove lane ${i + 1}`,
]).flat();

const comparison = [
  'Skip to the settings', 'Scope', 'Story', 'Compare', 'Tune', 'copy', 'theme',
  'list', 'bursts', 'exact', 'punishes', 'The whole table',
  'Lower limit', 'limit', 'Higher limit', 'auto', 'auto-rate-slider', 'auto-rate', 'pause', 'window',
  'add-event', 'graph', ...lanes(8), 'add', 'add-lane',
  'pattern', 'seed', 'Lower cost', 'cost', 'Higher cost', 'speed', 'step', 'reset', 'Keys',
  'clients-retry', 'What the clients do', 'script',
];

const own = {
  scope: { order: scope, still: 'auto=off&at=5&paused', flow: flowOfScope },
  compare: { order: comparison, still: quiet, flow: flowOfCompare },
};

async function tabTo(page, name) {
  for (let i = 0; await focused(page) !== name; i++) {
    assert(i < 100, `${name} is not reached`);
    await page.keyboard.press('Tab');
  }
}

async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
  await settle(page);
}

async function flowOfScope(page, open) {
  await show(page, open, 'auto=off&at=20&limit=3');
  await tabTo(page, 'graph');
  await press(page, 'p', 'r', 'Space', 'Space', 'Space', 'Space');
  assert.deepEqual(await values(page, 'allowed', 'refused'), [3, 1]);
  assert(Math.abs(await value(page, 'rate') - 4) < 1e-6);
  for (let i = 0; i < 10; i++) await press(page, 's');
  assert(Math.abs(await value(page, 'rate') - 4 * Math.exp(-0.1)) < 1e-6);
  await press(page, 'ArrowUp', 'ArrowUp');
  assert.equal(await page.inputValue('#limit'), '5');
  // The run is only a second long: there is nothing to look back at.
  await press(page, 'PageUp');
  assert(await page.locator('#live').isHidden());

  await tabTo(page, 'decay');
  await press(page, 'Control+a', '2', '0', 's');
  assert.equal(await page.textContent('#rate-unit'), 'per 20\u202fs');
  await tabTo(page, 'mode');
  await press(page, 'l');
  assert.equal(await page.inputValue('#mode'), 'leaky');
  await tabTo(page, 'auto');
  await press(page, 'Space');
  assert(await page.isChecked('#auto'));
  assert.equal(await events(page), 4, 'Space on a control is no event');
  await tabTo(page, 'auto-rate-slider');
  await press(page, 'End');
  assert.equal(await page.inputValue('#auto-rate'), '1000000');
  await press(page, 'Home');
  await tabTo(page, 'step');
  await press(page, 'Enter', 'Space');
  await tabTo(page, 'reset');
  await press(page, 'Enter');
  assert.equal(await events(page), 0);
  await tabTo(page, 'A burst of ten');
  await press(page, 'Enter');
  await until(page, () => Number(document.querySelector('#allowed').dataset.value) >= 10);
}

async function flowOfCompare(page, open) {
  await compare(page, open, 'auto=off&lanes=token-bucket;sliding-log&limit=3/10s&at=20');
  await tabTo(page, 'graph');
  await press(page, 'p', 'r', 'Space', 'Space', 'Space', 'Space');
  assert.deepEqual(await counts(page), [[3, 1], [3, 1]]);
  for (let i = 0; i < 34; i++) await page.keyboard.press('s');
  await press(page, 'Space');
  // The bucket gets one token back in 10/3 s; the log keeps all its events for 10 s.
  assert.deepEqual(await counts(page), [[4, 1], [3, 2]]);
  // The run is only a few seconds long: there is nothing to look back at.
  await press(page, 'PageUp');
  assert(await page.locator('#live').isHidden());

  await tabTo(page, 'Write another limiter in lane 2');
  await press(page, 'Enter');
  assert.equal(await focused(page), 'Lane 2, its limiter');
  await page.keyboard.type('gcra burst 5');
  await settle(page);
  await press(page, 'Alt+ArrowUp');
  assert.deepEqual(await rules(page), ['gcra burst 5', 'token-bucket']);
  await tabTo(page, 'add');
  await page.keyboard.type('fixed-window');
  await press(page, 'Enter');
  assert.deepEqual(await rules(page), ['gcra burst 5', 'token-bucket', 'fixed-window']);
  await press(page, 'Shift+Tab'); // to the Remove of the new lane
  assert.equal(await focused(page), 'Remove lane 3');
  await press(page, 'Enter');
  assert.deepEqual(await rules(page), ['gcra burst 5', 'token-bucket']);
  assert.equal(await focused(page), 'Write another limiter in lane 2');

  await tabTo(page, 'limit');
  await press(page, 'ArrowUp');
  assert.equal(await page.inputValue('#limit'), '4/10s');
  await tabTo(page, 'auto');
  await press(page, 'Space');
  assert(await page.isChecked('#auto'));
  assert.equal(await sent(page), 5, 'Space on a control is no event');
  await tabTo(page, 'auto-rate-slider');
  await press(page, 'End');
  assert.equal(await page.inputValue('#auto-rate'), '10000');
  await press(page, 'Home');
  assert.match(await page.getAttribute('#auto-rate-slider', 'aria-valuetext'), /^0\.001\b/);
  await tabTo(page, 'reset');
  await press(page, 'Enter');
  assert.equal(await sent(page), 0);
  await tabTo(page, 'list');
  await press(page, 'Enter');
  await tabTo(page, 'The relentless abuser');
  await press(page, 'Enter');
  await until(page, () => Number(document.querySelector('#sent').dataset.value) >= 299);
}

for (const [view, { order, still, flow }] of Object.entries(own)) {
  const { begin, count } = views[view];
  pageTest(`${view} without a mouse`, async ({ page, open, test }) => {
    await test('Tab reaches everything in the order in which it is read', async () => {
      await begin(page, open, still);
      for (const name of order) {
        await page.keyboard.press('Tab');
        assert.equal(await focused(page), name);
        // The graph of the comparison is higher than this window.
        if (view !== 'compare' || name !== 'graph') await assertFocusIsSeen(page);
      }
      await page.keyboard.press('Shift+Tab');
      assert.equal(await focused(page), order.at(-2));
    });

    await test('Space is an event, on the graph and where nothing else has the keys', async () => {
      await begin(page, open, still);
      await page.locator('#graph').focus();
      const scrolled = await page.evaluate(() => scrollY);
      await press(page, 'Space');
      assert.equal(await count(page), 1);
      await page.locator('#graph').blur();
      await press(page, 'Space');
      assert.equal(await count(page), 2);
      assert.equal(await page.evaluate(() => scrollY), scrolled);
    });

    await test('the whole flow by keys', () => flow(page, open));

    await test('Live by keys, and the focus is not lost with it', async () => {
      await begin(page, open, 'auto-rate=2&at=50&paused&window=10s');
      await page.locator('#graph').focus();
      await press(page, 'PageUp');
      assert(await page.locator('#live').isVisible());
      await tabTo(page, 'live');
      await press(page, 'Enter');
      assert(await page.locator('#live').isHidden());
      assert.equal(await focused(page), 'graph');
    });

    await test('keys of the browser stay the browser’s', async () => {
      await begin(page, open, still);
      await page.locator('#graph').focus();
      const taken = await page.evaluate((names) => names.map((key) => {
        const event = new KeyboardEvent('keydown', { key, ctrlKey: key === 'r', bubbles: true, cancelable: true });
        document.querySelector('#graph').dispatchEvent(event);
        return event.defaultPrevented;
      }), ['Tab', 'Enter', 'F5', 'r', ...(view === 'compare' ? ['ArrowUp'] : [])]);
      assert(!taken.includes(true), `${taken}`);
      // And a key in a box is a letter.
      await page.locator(view === 'compare' ? '#limit' : '#decay').focus();
      await press(page, 'p', 'Space');
      assert.deepEqual([await count(page), await page.textContent('#pause')], [0, 'Run']);
    });
  });
}
