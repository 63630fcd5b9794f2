// The two intervals: by box, by stepper and by arrow key.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { close, lines, press, show, smooth, step, type, value, values } from './scope.mjs';

const busy = 'auto=off&limit=0&at=12&paused&do=1:events*8,5:events*3,9:events';

// Both lines at 12 s, if all events were measured with the intervals p and q.
const told = (p, q) => lines([...Array(8).fill(1), ...Array(3).fill(5), 9], 12, p, q);

pageTest('the two intervals', async ({ page, open, test }) => {
  await test('another decay interval measures all of it again', async () => {
    await show(page, open, busy);
    await type(page, 'decay', '1m');
    const [rate, smoothed] = told(60, 60);
    const after = await values(page, 'rate', 'smoothed');
    assert(close(after[0], rate) && close(after[1], smoothed), `${after}, not ${rate} and ${smoothed}`);
    assert.equal(await page.textContent('#rate-unit'), 'per 1\u202fm');
    await step(page, 60);
    assert(close(await value(page, 'rate'), rate * Math.exp(-6 / 60)));
  });

  await test('another increase interval changes the smoothed rate and nothing else', async () => {
    await show(page, open, busy);
    const before = await value(page, 'rate');
    await type(page, 'increase', '5s');
    const [rate, smoothed] = told(10, 5);
    const after = await values(page, 'rate', 'smoothed');
    assert(after[0] === before && close(after[1], smoothed), `${after}, not ${rate} and ${smoothed}`);
    await step(page, 30);
    const later = await values(page, 'rate', 'smoothed');
    assert(close(later[0], rate * Math.exp(-0.3)));
    assert(close(later[1], smooth(smoothed, rate, 3, 10, 5)));
  });

  await test('buttons and arrow keys go to the next round interval', async () => {
    await show(page, open, busy);
    const boxes = [
      ['decay', 'Shorter decay interval', 'Longer decay interval', ['15s', '20s', '30s', '1m']],
      ['increase', 'Shorter increase interval', 'Longer increase interval', ['2m', '5m', '10m', '15m']],
    ];
    for (const [id, shorter, longer, values] of boxes) {
      const start = await page.inputValue(`#${id}`);
      const button = (name) => page.getByRole('button', { name });
      for (const value of values) {
        await button(longer).click();
        assert.equal(await page.inputValue(`#${id}`), value);
      }
      for (const value of [...values].reverse().slice(1).concat(start)) {
        await button(shorter).click();
        assert.equal(await page.inputValue(`#${id}`), value);
      }
      await page.locator(`#${id}`).focus();
      await page.keyboard.press('ArrowUp');
      assert.equal(await page.inputValue(`#${id}`), values[0]);
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowDown');
      assert.notEqual(await page.inputValue(`#${id}`), start);
    }
  });

  await test('the buttons stop at the ends', async () => {
    await show(page, open, `${busy}&decay=100ms&increase=1w`);
    await press(page, '[data-step=decay][data-by="-1"]');
    await press(page, '[data-step=increase][data-by="1"]');
    assert.equal(await page.inputValue('#decay'), '100ms');
    assert.equal(await page.inputValue('#increase'), '1w');
  });

  await test('spans are read as people write them', async () => {
    await show(page, open, busy);
    for (const [text, unit] of [['1h30m', 'per 1\u202fh 30\u202fm'], ['90s', 'per 1\u202fm 30\u202fs'], [' 250ms ', 'per 250\u202fms'], ['1.5s', 'per 1.5\u202fs']]) {
      await type(page, 'decay', text);
      // The text stays as it was typed until the box loses the focus.
      assert.equal(await page.inputValue('#decay'), text);
      assert.equal(await page.textContent('#rate-unit'), unit);
      await page.locator('#decay').blur();
      assert.equal(await page.inputValue('#decay'), unit.slice(4).replaceAll(/\s/g, ''));
    }
  });
});
