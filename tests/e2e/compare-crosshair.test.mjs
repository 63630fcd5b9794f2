// The crosshair through all lanes, by mouse and by keys: the level and the decision of each lane there.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { compare, HEAD, pitch, place } from './compare.mjs';
import { column, crisp, exim, inks, noteTexts, plot, rest, settle, written } from './scope.mjs';

// Twelve events at 2 s, and one at 5 s.
const run = 'auto=off&lanes=exim strict;earrrl;token-bucket;leaky-bucket;sliding-log&window=10s&at=9&paused'
  + '&do=2:events*12,5:events';
const p = 10;
const lambda = Math.LN2 / p;
const three = (value) => (Number.isInteger(value) ? `${value}` : value.toPrecision(3));

// The levels `t` seconds into the run, after its last event. Ten of the twelve events fit into the bucket,
// the queue and the log. The bucket and the queue then free one a second; the log frees none, and refuses the
// last event. The recent average counts all events, and shows its estimate as events in its period.
const atFive = exim(12, 3, p);
const levels = (t) => [
  atFive * Math.exp(-(t - 5) / p),
  p * lambda * (12 * Math.exp(-3 * lambda) + 1) * Math.exp(-(t - 5) * lambda),
  8 - (t - 5),
  8 - (t - 5),
  10,
].map(three);

// The instant of the level that is known at `t`: the last microsecond of a column of 2^14 microseconds.
const known = (t) => (Math.floor(t * 1e6 / 16384) * 16384 + 16383) / 1e6;

const rules = ['exim strict', 'earrrl', 'token-bucket', 'leaky-bucket', 'sliding-log'];
const units = ['rate', 'estimate', 'tokens used', 'queue', 'in window'];

// The decision of each lane at 5 s, and the level by which it decided if that is not the level after the event.
// The recent average decides by its estimate before the event.
const judged = [
  'allowed',
  `allowed: judged at ${three(p * lambda * 12 * Math.exp(-3 * lambda))} of 10`,
  'allowed',
  'allowed in 7.0\u202fs',
  'refused: judged at 11 of 10',
];

pageTest('the mouse shows what each lane said', crisp, async ({ page, open }) => {
  await noteTexts(page);
  await compare(page, open, run);
  const { left, right } = await plot(page);
  const point = async (ago) => {
    const x = Math.round(right - ago * (right - left) / 10);
    await rest(page, ...await place(page, x, HEAD + 20));
    // The crosshair goes through every plot.
    const line = await column(page, x);
    const distance = await pitch(page);
    for (let i = 0; i < rules.length; i++) {
      const lane = line.slice(2 * (distance * i + HEAD), 2 * (distance * (i + 1) - 1));
      assert(lane.filter((ink) => ink === inks.light.Crosshair).length > 20, `no crosshair in lane ${i + 1}`);
    }
    const said = await page.$$eval('.lane .at', (all) => all.map((it) => it.textContent));
    return [9 - (right - x) * 10 / (right - left), said, await written(page)];
  };

  // Between events: the level, and no verdict. The values are in the heads of the lanes and cover no drawing.
  const [t, heads, words] = await point(2);
  assert(words.some((text) => /^at [67](\.\d+)?\u202fs$/.test(text)), words.join());
  levels(known(t)).forEach((level, i) => assert(heads[i].startsWith(`${level} of 10; next `), `${level} in ${heads[i]}`));
  assert(!words.some((text) => text.includes('; next ')), 'no box hides a lane');
  assert.equal(await page.locator('.lane .promise:visible').count(), 0, 'in place of the promises');

  // On the event: all verdicts, and the reasons.
  const [, verdicts] = await point(4);
  judged.forEach((verdict, i) => assert(verdicts[i].startsWith(`${verdict}; `), `${verdict} in ${verdicts[i]}`));
  assert.deepEqual(await page.$$eval('.lane .at', (all) => all.map((it) => it.dataset.value)), ['0', '0', '0', '0', '1']);
  // On the burst: the counts. Exim lets the tenth pass: its rate is just below 10, since Exim takes two
  // events to be a nanosecond apart.
  const [, burst, counted] = await point(7);
  assert.equal(burst.filter((text) => text.startsWith('10 allowed, 2 refused; ')).length, 4);
  assert.equal(burst.filter((text) => text.startsWith('12 allowed; ')).length, 1);
  assert(counted.includes('12 sent'), 'up to there');

  await page.mouse.move(5, 5);
  await settle(page);
  assert.equal(await page.locator('.lane .promise:visible').count(), 5, 'the crosshair has gone');
});

pageTest('keys move it, and the summary says it', async ({ page, open }) => {
  await compare(page, open, run);
  assert.equal(await page.getAttribute('#summary', 'aria-live'), 'polite');
  const summary = () => page.textContent('#summary');
  assert.equal(await summary(), '13 events. 1, exim strict: 11 allowed, 2 refused. 2, earrrl: 13 allowed, 0 refused. '
    + '3, token-bucket: 11 allowed, 2 refused. 4, leaky-bucket: 11 allowed, 2 refused. 5, sliding-log: 10 allowed, 3 refused.');
  const { left, right } = await plot(page);
  const pixels = (seconds) => seconds * (right - left) / 10;
  await page.locator('#graph').focus();
  for (let i = 0; i < 15; i++) await page.keyboard.press('Shift+ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowRight');
  await settle(page);
  const at = levels(known(9 - 150 / pixels(1)));
  const lines = rules.map((rule, i) => `${i + 1}, ${rule}: ${units[i]} ${at[i]} of 10`);
  assert.equal((await summary()).replace(/; next (now|in [\d.]+\u202fs)/g, ''), lines.join('. '));
  // The log has ten events, and forgets them 10 s after the burst: 4.4 s after the crosshair.
  assert.match(await summary(), /10 of 10; next in 4\.\d\u202fs$/);

  // Within 4 pixels of the event at 5 s, the crosshair means the event.
  const steps = Math.round(pixels(4)) - 150;
  for (let i = 0; i < Math.floor(steps / 10); i++) await page.keyboard.press('Shift+ArrowLeft');
  for (let i = 0; i < steps % 10; i++) await page.keyboard.press('ArrowLeft');
  await settle(page);
  const words = (await summary()).split('. ').map((line) => line.split('; ')[1]);
  assert.deepEqual(words, judged);
  await page.keyboard.press('Escape');
  await settle(page);
  assert.match(await summary(), /^13 events\. 1, exim/);
});
