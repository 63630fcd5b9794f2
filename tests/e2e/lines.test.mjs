// Both lines have the values of their formulas, which are computed here once more.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { click, close, exim, lines, show, step, type, values } from './scope.mjs';

async function assertLines(page, [rate, smoothed], when) {
  const [red, blue] = await values(page, 'rate', 'smoothed');
  assert(close(red, rate), `red ${when}: ${red}, not ${rate}`);
  assert(close(blue, smoothed), `blue ${when}: ${blue}, not ${smoothed}`);
}

const script = 'do=1:events,2.5:events*3,4.25:events,9:events*2';
const times = [1, 2.5, 2.5, 2.5, 4.25, 9, 9];
const seconds = (span) => parseFloat(span) * (span.endsWith('m') ? 60 : 1);

pageTest('both lines and their formulas', async ({ page, open, test }) => {
  await test('the readouts are those of the formulas', async () => {
    for (const [decay, increase] of [['10s', '1m'], ['30s', '2s'], ['5s', '5s']]) {
      const [p, q] = [decay, increase].map(seconds);
      await show(page, open, `auto=off&limit=0&decay=${decay}&increase=${increase}&at=12&paused&${script}`);
      await assertLines(page, lines(times, 12, p, q), `from the link, p = ${p}`);
      await step(page, 7);
      await assertLines(page, lines(times, 12.7, p, q), `after steps, p = ${p}`);
      await click(page);
      await step(page, 10);
      await assertLines(page, lines([...times, 12.7], 13.7, p, q), `after a click, p = ${p}`);
    }
  });

  await test('after one decay interval 37 % of the rate is left', async () => {
    await show(page, open, 'auto=off&limit=0&at=3&paused&do=3:events*5');
    await page.locator('#reset').click();
    for (let i = 0; i < 5; i++) await click(page);
    const [before] = await values(page, 'rate');
    await step(page, 100);
    const [after] = await values(page, 'rate');
    assert(close(after / before, Math.exp(-1)), `${after / before}`);
  });

  await test('the formulas have the numbers of this moment', async () => {
    await show(page, open, 'auto=off&limit=0&at=6&paused&do=1:events*4,3:events');
    const [p, q] = [10, 60];
    const before = exim(0, Infinity, p) + 3; // exact enough for the three digits shown
    await assertFormulas(page, { gap: 2, before, p, q });
    await click(page);
    const stored = exim(before, 2, p);
    await assertFormulas(page, { gap: 3, before: stored, p, q });

    // With another interval all events are measured again.
    await type(page, 'decay', '1m');
    const again = exim(before, 2, 60);
    await assertFormulas(page, { gap: 3, before: again, p: 60, q });
    await step(page, 20);
    await click(page);
    await assertFormulas(page, { gap: 2, before: exim(again, 3, 60), p: 60, q });
  });
});

// Reads a number as the page writes it: with commas between thousands, a true minus, a power of ten.
async function shown(page, id) {
  const superscript = (c) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'.indexOf(c);
  const raised = (all, digits) =>
    `e${[...digits].map((c) => (c === '⁻' ? '-' : superscript(c) - 1)).join('')}`;
  const text = await page.textContent(`#m-${id}`);
  return Number(text.replaceAll(',', '').replace('−', '-').replace(/×10([⁻⁰¹²³⁴-⁹]+)/, raised));
}

async function assertFormulas(page, { gap, before, p, q }) {
  const near = async (id, value) => {
    const found = await shown(page, id);
    // Three digits are shown.
    assert(close(found, value, 0.0051), `${id}: ${found}, not ${value}`);
  };
  const x = gap / p;
  await near('gap', gap);
  await near('x', x);
  await near('mean', -Math.expm1(-x) / x);
  await near('left', Math.exp(-x));
  await near('before', before);
  await near('after', exim(before, gap, p));
  const [rate, smoothed] = await values(page, 'rate', 'smoothed');
  await near('rate', rate);
  await near('smoothed', smoothed);
  await near('increase', q);
  await near('slope', (rate - smoothed) / q);
}
