// The picture of the lanes: levels and verdicts where they belong, under the rows of the page.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import {
  compare, HEAD, laneInks, more, parts, pitch, property, quiet, sent,
} from './compare.mjs';
import { column, crisp, height, inks, plot, press, settle } from './scope.mjs';

// Twelve events at 2 s, and one each at 5 and 6 s.
const run = 'auto=off&lanes=token-bucket;fixed-window;sliding-log;earrrl;exim strict&window=10s&at=9&paused'
  + '&do=2:events*12,5:events,6:events';

pageTest('levels and verdicts', crisp, async ({ page, open, test }) => {
  await compare(page, open, run);
  await page.mouse.move(5, 5);
  await settle(page);
  const { left, right } = await plot(page);
  const distance = await pitch(page);
  const { level: LEVEL, allowed: ALLOWED, refused: REFUSED } = parts(distance);
  // The inks of the five lanes: token bucket, fixed window, sliding log, recent average, Exim.
  const own = [3, 5, 8, 2, 1].map((colour) => laneInks[colour - 1]);
  const x = (t) => right - (9 - t) * (right - left) / 10;
  // The device pixels of a part of lane `i` at `t` seconds. A column has the pixels of all lanes, and the
  // picture stands still, so each column is read once.
  const columns = {};
  const part = async (i, t, from, to) => {
    const at = Math.round(2 * x(t)) / 2;
    columns[at] ??= await column(page, at);
    return columns[at].slice(2 * (distance * i + from), 2 * (distance * i + to));
  };
  const level = (i, t) => part(i, t, LEVEL.top - 2, LEVEL.bottom + 2);

  await test('a level is where its number is, in the colour of its lane', async () => {
    // The upper edge is a quarter above the limit of 10, or 5 % above the highest level if that is more, as
    // for Exim: its rate reaches 12 at 2 s.
    const lambda = Math.LN2 / 10;
    const lanes = [
      { top: 12.5, at: { 1: 0, 3.5: 8.5, 4.5: 7.5, 8: 6 } }, // 10 at 2 s, one back a second, 8 at 5 and at 6 s
      { top: 12.5, at: { 1: 0, 3: 10, 8: 10 } },
      { top: 12.5, at: { 1: 0, 3: 10, 8: 10 } },
      { top: 12.5, at: { 1: 0, 3: 10 * lambda * 12 * Math.exp(-lambda), 4: 10 * lambda * 12 * Math.exp(-2 * lambda) } },
      { top: 1.05 * 12, at: { 1: 0, 3: 12 * Math.exp(-0.1), 4: 12 * Math.exp(-0.2) } },
    ];
    for (const [i, { top, at }] of lanes.entries()) {
      for (const [t, value] of Object.entries(at)) {
        const expected = 4 + 2 * (LEVEL.bottom - LEVEL.top) * (1 - value / top);
        const found = height(await level(i, t), own[i].light);
        assert(Math.abs(found - expected) <= 2.5, `lane ${i + 1} at ${t} s: ${found}, not ${expected}`);
      }
    }
  });

  await test('no other lane’s colour is in a lane', async () => {
    for (const t of [1, 3, 4.5, 8]) {
      for (let i = 0; i < 5; i++) {
        const colours = await part(i, t, 0, distance);
        for (const ink of laneInks) {
          if (ink !== own[i]) assert(!colours.includes(ink.light), `${ink.light} in lane ${i + 1} at ${t} s`);
        }
      }
    }
  });

  await test('crosses above, bars below', async () => {
    // A cross is centred on its event; a bar begins at the event, or where the event's column of 16 ms
    // begins.
    const around = async (i, t, middle) => {
      const colours = [];
      for (let by = -2; by <= 2; by += 0.5) {
        colours.push(...await part(i, t + by * 10 / (right - left), middle - 6, middle + 6));
      }
      return colours;
    };
    const verdicts = async (i, t) => {
      const [below, above] = [await around(i, t, ALLOWED), await around(i, t, REFUSED)];
      const between = await level(i, t);
      for (const [ink, others] of [['Allowed', [above, between]], ['Refused', [below, between]]]) {
        for (const colours of others) assert(!colours.includes(inks.light[ink]), `${ink} out of place in lane ${i + 1} at ${t} s`);
      }
      return [below.includes(inks.light.Allowed), above.includes(inks.light.Refused)];
    };
    // At 2 s every lane let ten pass and refused two, except the recent average, which let all pass. After
    // that the bucket has room, the window and the log are full, and the estimate is below its limit. Exim's
    // rate is 9.75 at 5 s, and 9.78 at 6 s.
    const expected = [
      [[true, true], [true, false], [true, false]],
      [[true, true], [false, true], [false, true]],
      [[true, true], [false, true], [false, true]],
      [[true, false], [true, false], [true, false]],
      [[true, true], [true, false], [true, false]],
    ];
    for (const [i, lane] of expected.entries()) {
      for (const [k, t] of [2, 5, 6].entries()) {
        assert.deepEqual(await verdicts(i, t), lane[k], `lane ${i + 1} at ${t} s`);
      }
      for (const t of [1, 3.5, 5.5, 8]) {
        assert.deepEqual(await verdicts(i, t), [false, false], `nothing in lane ${i + 1} at ${t} s`);
      }
    }
  });
});

pageTest('on the whole screen the heads are over their lanes, as much larger as the picture', async ({ page, open }) => {
  await compare(page, open, quiet);
  const rows = () => page.$eval('#graph', (graph) => {
    const { top } = graph.getBoundingClientRect();
    return [...document.querySelectorAll('.lane')].map((row) => row.getBoundingClientRect()).map((box) => [box.top - top, box.height]);
  });
  const before = await rows();
  await page.locator('#graph').focus();
  await page.keyboard.press('f');
  await page.waitForFunction(() => document.fullscreenElement);
  await settle(page);
  await settle(page);
  const larger = await pitch(page) * 5 / 3;
  const found = await rows();
  assert.equal(found.length, before.length);
  found.forEach(([top, height], i) => {
    assert(Math.abs(top - i * larger) < 8, `lane ${i + 1}: ${top} of ${i * larger}`);
    assert(Math.abs(height - before[i][1] * 5 / 3) < 1, `lane ${i + 1}: ${height}`);
  });
  assert.equal(await page.locator('.bar #limit').isVisible(), false);
  await page.keyboard.press('f');
  await page.waitForFunction(() => !document.fullscreenElement);
  await settle(page);
  await settle(page);
  assert.deepEqual(await rows(), before);
});

// A run whose counters have five and six digits.
const many = `${quiet}&limit=40000/10s&script=${'10000 at 1s,'.repeat(12)}3456 at 2s`;

for (const width of [1280, 360]) {
  const viewport = { width, height: 1000 };
  pageTest(`at ${width} pixels the rows lie over the heads of their lanes`, { viewport }, async ({ page, open, test }) => {
    await test('each over its own, and nothing of it over a plot', async () => {
      await compare(page, open, many);
      for (let n = 8; n <= 12; n++) {
        const found = await page.$eval('#graph', (graph) => {
          const box = graph.getBoundingClientRect();
          const [x, y] = [box.x + graph.clientLeft, box.y + graph.clientTop];
          return [...document.querySelectorAll('.lane')].map((row) => [...row.children, row]
            .filter((part) => part.checkVisibility({ visibilityProperty: true }) && !part.matches('.error'))
            .map((part) => part.getBoundingClientRect())
            .map((box) => [box.x - x, box.right - x, box.y - y, box.bottom - y]));
        });
        const inside = await page.$eval('#graph', (graph) => graph.clientWidth);
        const distance = await pitch(page);
        assert.equal(found.length, n);
        found.forEach((parts, i) => {
          for (const [left, right, top, bottom] of parts) {
            assert(left >= 0 && right <= inside, `lane ${i + 1}: ${left} to ${right} of ${inside}`);
            const head = distance * i;
            assert(top >= head && bottom <= head + HEAD + more(inside), `lane ${i + 1}: ${top - head} to ${bottom - head}`);
          }
          // The controls of a row are side by side.
          const all = parts.slice(0, -1).sort(([a], [b]) => a - b);
          const middle = parts.at(-1)[2] + (HEAD + more(inside)) / 2;
          const rows = inside < 480 ? [all.filter((part) => part[2] < middle - 6), all.filter((part) => part[2] >= middle - 6)] : [all];
          for (const beside of rows) {
            for (let k = 1; k < beside.length; k++) assert(beside[k][0] >= beside[k - 1][1] - 0.5, `lane ${i + 1} overlaps itself`);
          }
        });
        await page.locator('#add').fill('gcra');
        await press(page, '#add-lane');
      }
    });

    await test('what is written there can be read, and the counters are whole', async () => {
      await compare(page, open, many);
      assert.equal(await sent(page), 123456);
      const cut = await page.$$eval('.lane .counts, .lane .counts > *', (parts) => parts
        .filter((part) => part.checkVisibility() && part.scrollWidth > part.clientWidth + 1)
        .map((part) => `${part.className}: ${part.textContent}`));
      assert.deepEqual(cut, []);
      // A name that is cut has still some letters.
      for (const [width, whole] of await page.$$eval('.lane .name', (names) => names.map((name) => [name.clientWidth, name.scrollWidth]))) {
        assert(width >= Math.min(whole, 75), `${width} of ${whole} pixels for a name`);
      }
    });
  });
}

pageTest('the style sheet has the colours of the palette', async ({ page, open }) => {
  assert.equal(laneInks.length, 8);
  for (const theme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: theme });
    await compare(page, open, quiet);
    for (const [i, ink] of laneInks.entries()) {
      assert.equal(await property(page, `--lane-${i + 1}`), ink[theme], `lane ${i + 1}, ${theme}`);
    }
    const numbers = await page.$$eval('.lane .number', (all) => all.map((number) =>
      `#${getComputedStyle(number).backgroundColor.match(/\d+/g).map((c) => Number(c).toString(16).padStart(2, '0')).join('')}`));
    // The colours of the windows and the log, the buckets, Exim and the recent average.
    assert.deepEqual(numbers, [5, 6, 7, 8, 3, 4, 1, 2].map((colour) => laneInks[colour - 1][theme]));
  }
});
