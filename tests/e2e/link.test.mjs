// A link reproduces the picture; the address follows the settings.

import assert from 'node:assert/strict';
import { click as clickLanes, compare, counts, opened, quiet, rules, tall } from './compare.mjs';
import { pageTest } from './harness.mjs';
import {
  address, click, clipboard, crisp, events, picture, press, recording, reload, settle, show, step, type, until, values,
} from './scope.mjs';
import { views } from './views.mjs';

const hash = (page) => page.evaluate(() => decodeURIComponent(location.hash));
const go = (page, fragment) => page.evaluate((fragment) => { location.hash = fragment; }, fragment);

// The words of each view about a run, and wrong links with their messages. Of the last wrong link, the rest is shown.
const own = {
  scope: {
    tells: (page) => values(page, 'rate', 'smoothed', 'allowed', 'refused', 'again'),
    boxes: ['decay', 'increase', 'limit', 'mode', 'pattern', 'auto-rate', 'seed', 'window', 'speed'],
    limits: ['10', '4'],
    wrong: [
      ['decay=10x', '"x" in "decay=10x": not a unit'],
      ['decay=soon', 'soon'],
      ['evnts=3', '"evnts" in "evnts=3": not part of a link'],
      ['limit=%zz', '"%zz" in "limit=%zz": not a number'],
      ['limit=10&do=5:events,1:events', 'a time before zero, or earlier than the command before it'],
    ],
    // Opens a short run and makes of it the run that is to be copied.
    async use(page) {
      await show(page, undefined, 'auto-rate=4&seed=9&limit=10&at=2&paused');
      await page.locator('#pattern').selectOption('bursts');
      await step(page, 50);
      await type(page, 'decay', '7s');
      await type(page, 'limit', '12.5');
      await page.locator('#mode').selectOption('leaky');
      for (let i = 0; i < 4; i++) await click(page);
      await step(page, 31);
      await type(page, 'increase', '3s');
      await page.locator('#auto').uncheck();
      await step(page, 12);
      await click(page);
      await page.locator('#window').selectOption('30s');
      await page.locator('#exact').check();
      await step(page, 2);
    },
  },
  compare: {
    tells: async (page) => [await counts(page), await rules(page)],
    boxes: ['limit', 'cost', 'pattern', 'auto-rate', 'seed', 'script', 'speed', 'window'],
    limits: ['10/10s', '4/10s'],
    wrong: [
      ['lanes=gcra;nothing', '"nothing" in'],
      ['limit=ten', '"ten" in "limit=ten"'],
      ['evnts=3', '"evnts" in "evnts=3": not part of a link'],
      ['script=3 at', 'script=3 at'],
      [`lanes=${Array(13).fill('gcra').join(';')}`, 'more than 12 lanes'],
      ['auto=off&evnts=5', 'the rest is shown: "evnts"'],
    ],
    async use(page) {
      await compare(page, undefined, 'auto-rate=4&seed=9&limit=8/10s&at=2&paused');
      await step(page, 30);
      await page.locator('#pattern').selectOption('bursts');
      await step(page, 50);
      await (await opened(page, 2)).fill('earrrl half-life 20s');
      await press(page, '.lane .remove >> nth=6');
      for (let i = 0; i < 4; i++) await clickLanes(page, 3);
      await step(page, 31);
      await type(page, 'add', '3/1s & token-bucket per user');
      await press(page, '#add-lane');
      await press(page, '.lane .up >> nth=3');
      await type(page, 'limit', '12/10s');
      await type(page, 'cost', '2');
      await type(page, 'script', '5 at 14s user ann, 3/1s from 15s');
      await step(page, 40);
      await page.locator('#auto').uncheck();
      await clickLanes(page, 1, 2);
      await page.locator('#window').selectOption('30s');
      await step(page, 12);
      const seen = await counts(page);
      assert(seen.every(([passed]) => passed > 0) && seen.some(([, denied]) => denied > 0), `${seen}`);
    },
  },
};

// At an imitated pixel ratio, letters are drawn in one of two ways, depending on when a page hears of the
// ratio. So the ratio is 1 here.
const copying = { ...crisp, ...tall, deviceScaleFactor: 1, ...clipboard };

for (const [view, { begin, click, count }] of Object.entries(views)) {
  const { tells, boxes, limits: [usual, other], wrong, use } = own[view];
  pageTest(`the copied link of ${view} reproduces the picture`, copying, async ({ page, context, open }) => {
    await begin(page, open);
    await use(page);
    const link = await recording(page);
    await page.mouse.move(5, 5);
    await page.evaluate(() => document.activeElement.blur());
    // By then the feedback to the last click is gone.
    await page.clock.runFor(1100);
    await settle(page);
    const [seen, sent, drawn] = [await tells(page), await count(page), await picture(page)];

    const copy = await context.newPage();
    await begin(copy, (path) => copy.goto(new URL(path, page.url()).href), link);
    assert.deepEqual([await tells(copy), await count(copy)], [seen, sent]);
    assert(await picture(copy) === drawn, 'the pictures differ');
    assert.equal(await copy.textContent('#note'), 'paused');
    for (const id of boxes) assert.equal(await copy.inputValue(`#${id}`), await page.inputValue(`#${id}`), id);
    // The link copied from the copy is the same.
    assert.equal(await recording(copy), link);
  });

  pageTest(`links of ${view}`, tall, async ({ page, open, test }) => {
    await test('the address of a recording stays until something is changed', async () => {
      const link = 'auto=off&at=5&paused&do=1:events*13';
      await begin(page, open, link);
      const seen = await tells(page);
      await page.clock.runFor(400); // longer than the page waits before it writes the address
      assert.equal(await hash(page), `#${link}`);
      await reload(page);
      assert.deepEqual([await tells(page), await hash(page)], [seen, `#${link}`]);
    });

    await test('another fragment begins at once, and back returns', async () => {
      await begin(page, open, 'auto=off&paused&at=5');
      await go(page, `#auto=off&at=7&paused&limit=${other}&do=2:events*6`);
      await page.waitForFunction((other) => document.querySelector('#limit').value === other, other);
      await settle(page);
      assert.equal(await count(page), 6);
      await page.goBack();
      await page.waitForFunction((usual) => document.querySelector('#limit').value === usual, usual);
      await settle(page);
      assert.equal(await count(page), 0);
    });

    await test('a wrong one says what is wrong, leaves the run alone, and the page works', async () => {
      for (const [link, problem] of wrong.slice(0, -1)) {
        await begin(page, open, 'auto=off&paused&at=5&do=1:events*3');
        await go(page, link);
        await until(page, (problem) => document.querySelector('#note').textContent.includes(problem), problem);
        assert.equal(await count(page), 3);
        await click(page);
        assert.deepEqual([await count(page), await page.textContent('#note')], [4, 'paused']);
      }
    });
  });

  pageTest(`a wrong link of ${view} is told on load, and the page works`, tall, async ({ page, open }) => {
    for (const [link, problem] of [wrong[0], wrong.at(-1)]) {
      await page.goto('about:blank');
      await begin(page, open, link);
      assert((await page.textContent('#note')).includes(problem), await page.textContent('#note'));
      const before = await count(page);
      await click(page);
      assert(await count(page) > before);
      assert(await page.locator('#failed').isHidden());
    }
    // A right link is shown, and the message is gone.
    await begin(page, open, 'auto=off&paused&at=5&do=1:events');
    assert.deepEqual([await page.textContent('#note'), await count(page)], ['paused', 1]);
  });
}

pageTest('the address follows the settings, and a reload keeps them', async ({ page, open, context, test }) => {
  await test('of the scope', async () => {
    await show(page, open, 'auto=off&paused');
    await type(page, 'decay', '25s');
    await address(page, 'decay=25s');
    await page.locator('#mode').selectOption('leaky');
    await page.locator('#auto-rate-slider').fill('2');
    await address(page, 'mode=leaky&auto=off&auto-rate=100');
    await reload(page);
    assert.deepEqual([await page.inputValue('#decay'), await page.inputValue('#mode')], ['25s', 'leaky']);
    assert.equal(await page.evaluate(() => history.length), 2, 'settings make no history');
  });

  await test('of the comparison', async () => {
    const other = await context.newPage();
    await compare(other, (path) => other.goto(new URL(path, page.url()).href), quiet);
    await type(other, 'limit', '25/1m');
    await address(other, 'limit=25/1m');
    await (await opened(other, 1)).fill('3/1s & gcra');
    await other.locator('#speed').selectOption('5');
    await address(other, 'lanes=3/1s & gcra;sliding-window;');
    await address(other, 'speed=5');
    await reload(other);
    assert.deepEqual([await other.inputValue('#limit'), (await rules(other))[0]], ['25/1m', '3/1s & gcra']);
    assert.equal(await other.evaluate(() => history.length), 2, 'settings make no history');
  });
});

pageTest('without a clipboard the link is in the address', async ({ page, open }) => {
  await show(page, open, 'auto=off&paused&at=5');
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error('no permission'));
  });
  await click(page);
  await page.locator('#copy').click();
  await page.getByText('It is in the address').waitFor();
  await page.clock.runFor(400); // longer than the page waits before it writes the address
  assert.match(await hash(page), /&at=5&paused&do=5:events\*1$/);
  assert.equal(await events(page), 1);
});

pageTest('a link that can not replay says so', clipboard, async ({ page, open }) => {
  await show(page, open, 'auto=off&paused&at=5');
  await click(page);
  assert.match(await recording(page), /do=5:events\*1$/);
  assert.equal(await page.textContent('#note'), 'paused');
  // The link has as many commands as a run remembers; the click is one more.
  await show(page, open, `auto=off&paused&at=5&limit=7&do=${Array(10_000).fill('9:events').join()}`);
  await click(page);
  assert.match(await recording(page), /^limit=7&(?!.*(do|at)=)/);
  await settle(page);
  assert.match(await page.textContent('#note'), /settings only/);
  await click(page);
  assert.equal(await page.textContent('#note'), 'paused', 'until something is done');
});

pageTest('a try-it link can be followed again and again', async ({ page, open }) => {
  await show(page, open, 'auto=off');
  for (let i = 0; i < 3; i++) {
    await page.getByRole('link', { name: 'A burst of ten' }).click();
    await page.clock.runFor(50);
    assert.equal(await events(page), 0);
    await page.clock.runFor(1100);
    assert.equal(await events(page), 10);
  }
});
