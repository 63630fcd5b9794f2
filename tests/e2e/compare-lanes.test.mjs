// The lanes themselves: written in place, added, removed and moved.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { allowed, click, compare, counts, lane, opened, PITCH, pitch, quiet, rules, sent, tall, TALL } from './compare.mjs';
import { address, focused, press, settle, type } from './scope.mjs';

const three = `${quiet}&lanes=token-bucket;earrrl;sliding-log`;
const canvas = (page) => page.$eval('#graph', (graph) => graph.offsetHeight);
const write = async (page, n, text) => {
  await (await opened(page, n)).fill(text);
  await lane(page, n).dispatchEvent('change');
  await settle(page);
};

// The message about the text of lane `n`, whether its box is marked as wrong, and whether the message is
// seen.
const said = async (page, n) => ({
  message: await page.textContent(`#lane-${n}-error`),
  invalid: await lane(page, n).getAttribute('aria-invalid'),
  seen: await page.locator(`#lane-${n}-error`).isVisible(),
});
const fine = { message: '', invalid: 'false', seen: false };

pageTest('what is written in a lane', tall, async ({ page, open, test }) => {
  await test('another rule is in force at once, and the others go on', async () => {
    await compare(page, open, three);
    await click(page, 1, 12);
    assert.deepEqual(await counts(page), [[10, 2], [12, 0], [10, 2]]);
    await write(page, 1, 'token-bucket  burst 3');
    assert.deepEqual(await counts(page), [[3, 9], [12, 0], [10, 2]], 'it has seen what the others saw');
    await click(page, 1, 4);
    // The bucket has used its burst of 3; the recent average lets up to its fifteenth event pass.
    assert.deepEqual(await counts(page), [[3, 13], [15, 1], [10, 6]]);
    assert.equal(await lane(page, 1).inputValue(), 'token-bucket burst 3', 'tidy, when it is left');
    assert.equal(await page.textContent('#promise-1'), 'at most 12 in any 10\u202fs');
    assert.equal(await page.getAttribute('#promise-1', 'title'), 'token-bucket 10/10s burst 3 per ip');
  });

  await test('while it is typed it stays as it is typed', async () => {
    await compare(page, open, three);
    await write(page, 2, 'gcra   burst 5');
    assert.equal(await lane(page, 2).inputValue(), 'gcra   burst 5');
    await page.keyboard.press('Tab');
    assert.equal(await lane(page, 2).inputValue(), 'gcra burst 5');
  });

  await test('wrong text says beside the box what is wrong, and the last good rule stays', async () => {
    await compare(page, open, three);
    await write(page, 2, 'gcra');
    assert.deepEqual(await said(page, 2), fine);
    for (const text of ['token-bucket brust 3', 'nothing', '', 'gcra 10', 'gcra per planet', 'sliding-log 1000000/1s']) {
      await write(page, 2, text);
      const { message, invalid, seen } = await said(page, 2);
      assert(message.length > 25 && message.endsWith('. Still using gcra.'), `'${text}': ${message}`);
      assert.deepEqual([invalid, seen], ['true', true], text);
      assert.equal(await lane(page, 2).inputValue(), text);
    }
    await write(page, 2, 'token-bucket brust 3');
    const words = await said(page, 2);
    assert.match(words.message, /brust/, 'it names the word');
    const [box, beside] = await Promise.all([lane(page, 2), page.locator('#lane-2-error')].map((it) => it.boundingBox()));
    // The message is in the row of the controls, and covers no drawing.
    assert(beside.x >= box.x + box.width && beside.y >= box.y - 1 && beside.y + beside.height <= box.y + box.height + 2);
    assert.equal(await lane(page, 2).getAttribute('aria-describedby'), 'lane-2-error');
    // The last good limiter still counts and is in the address, and the wrong text stays to be corrected.
    await click(page, 1, 11);
    assert.deepEqual((await counts(page))[1], [10, 1]);
    await address(page, 'lanes=token-bucket;gcra;sliding-log&');
    assert.equal(await lane(page, 2).inputValue(), 'token-bucket brust 3');
    await write(page, 2, 'token-bucket burst 3');
    assert.deepEqual(await said(page, 2), fine);
  });

  await test('several limits in one lane', async () => {
    await compare(page, open, three);
    await write(page, 3, '3/1s & fixed-window');
    await click(page, 1, 5);
    assert.deepEqual((await counts(page))[2], [3, 2]);
    await address(page, '3/1s & fixed-window');
  });
});

pageTest('as many lanes as one likes', { viewport: { width: 1280, height: 1300 } }, async ({ page, open, test }) => {
  await test('one more', async () => {
    await compare(page, open, three);
    await click(page, 1, 11);
    await type(page, 'add', 'gcra');
    await press(page, '#add-lane');
    assert.deepEqual(await rules(page), ['token-bucket', 'earrrl', 'sliding-log', 'gcra']);
    assert.deepEqual(await counts(page), [[10, 1], [11, 0], [10, 1], [10, 1]], 'it has seen what the others saw');
    assert.equal(await sent(page), 11);
    assert.equal(await page.inputValue('#add'), '', 'ready for another');
    await type(page, 'add', ' fixed-window  5/1m ');
    await page.locator('#add').press('Enter');
    await settle(page);
    assert.equal((await rules(page))[4], 'fixed-window 5/1m');
    await click(page, 5, 6);
    assert.deepEqual((await counts(page)).slice(3), [[10, 7], [5, 12]]);
  });

  await test('a wrong one says what is wrong, and adds nothing', async () => {
    await compare(page, open, three);
    for (const text of ['', 'bucket', 'gcra burst', 'exim strict per']) {
      await type(page, 'add', text);
      await press(page, '#add-lane');
      assert((await page.textContent('#add-error')).length > 15);
      assert.equal(await page.getAttribute('#add', 'aria-invalid'), 'true');
      assert.equal(await page.getAttribute('#add', 'aria-describedby'), 'add-error');
      assert.deepEqual([await page.inputValue('#add'), (await rules(page)).length], [text, 3]);
    }
    await type(page, 'add', 'exim strict per user');
    await press(page, '#add-lane');
    assert.equal(await page.textContent('#add-error'), '');
    assert.equal(await page.getAttribute('#add', 'aria-invalid'), 'false');
    assert.equal((await rules(page)).length, 4);
  });

  await test('twelve at most', async () => {
    await compare(page, open, quiet);
    for (let n = 9; n <= 13; n++) {
      await type(page, 'add', `token-bucket burst ${n}`);
      await press(page, '#add-lane');
    }
    assert.equal((await rules(page)).length, 12);
    assert.equal(await page.textContent('#add-error'), '"token-bucket burst 13": there are 12 lanes already');
    await click(page, 12, 13);
    assert.deepEqual((await allowed(page)).slice(8), [9, 10, 11, 12]);
    await press(page, '.lane .remove >> nth=11');
    assert.equal((await rules(page)).length, 11);
  });

  await test('one goes, the others keep what they know', async () => {
    await compare(page, open, three);
    await click(page, 1, 16);
    assert.deepEqual(await counts(page), [[10, 6], [15, 1], [10, 6]]);
    await press(page, '.lane .remove >> nth=0');
    assert.deepEqual(await rules(page), ['earrrl', 'sliding-log']);
    assert.deepEqual(await counts(page), [[15, 1], [10, 6]]);
    assert.equal(await focused(page), 'Write another limiter in lane 1', 'the focus is not lost with the button');
    await press(page, '.lane .remove >> nth=1');
    assert.deepEqual(await rules(page), ['earrrl']);
    assert(await page.locator('.lane .remove').isDisabled(), 'the last one stays');
    await click(page);
    assert.deepEqual(await counts(page), [[15, 2]]);
  });

  await test('up and down', async () => {
    await compare(page, open, three);
    await click(page, 1, 16);
    await press(page, '.lane .up >> nth=1');
    assert.deepEqual(await rules(page), ['earrrl', 'token-bucket', 'sliding-log']);
    assert.deepEqual(await allowed(page), [15, 10, 10], 'what they know moves with them');
    await press(page, '.lane .down >> nth=0');
    await press(page, '.lane .down >> nth=1');
    assert.deepEqual(await rules(page), ['token-bucket', 'sliding-log', 'earrrl']);
    assert.deepEqual(await allowed(page), [10, 10, 15]);
    assert.equal(await focused(page), 'Write another limiter in lane 3');
    // Keys move a lane, too, and no further than the ends.
    for (const [key, place] of [['ArrowUp', 2], ['ArrowUp', 1], ['ArrowUp', 1], ['ArrowDown', 2]]) {
      await page.keyboard.press(`Alt+${key}`);
      await settle(page);
      assert.equal((await rules(page)).indexOf('earrrl'), place - 1);
      assert.equal(await focused(page), `Write another limiter in lane ${place}`);
    }
    await address(page, 'lanes=token-bucket;earrrl;sliding-log&');
    const ends = await page.$$eval('.lane', (lanes) => lanes.map((row) =>
      ['up', 'down'].map((name) => row.querySelector(`.${name}`).disabled)));
    assert.deepEqual(ends, [[true, false], [false, false], [false, true]]);
  });
});

pageTest('lanes share the height of the screen', tall, async ({ page, open, test }) => {
  const kinds = ['fixed-window', 'sliding-window', 'sliding-counter', 'sliding-log', 'token-bucket', 'leaky-bucket', 'exim strict', 'earrrl'];
  const link = (n) => `${quiet}&lanes=${Array.from({ length: n }, (_, i) => kinds[i % 8]).join(';')}`;

  await test('as high as there is room for, and not too high', async () => {
    const found = [];
    for (const n of [1, 4, 6, 12]) {
      await compare(page, open, link(n));
      const { top, height } = await page.$eval('#graph', (graph) => graph.getBoundingClientRect());
      const distance = await pitch(page);
      found.push(distance);
      if (distance > PITCH) assert(scrollless(top + height), `${n} lanes end at ${top + height}`);
      // Each row of controls lies over its own lane.
      const tops = await page.$$eval('.lane', (rows) => rows.map((row) => row.getBoundingClientRect().top));
      tops.forEach((at, i) => assert(Math.abs(at - top - distance * i - 4) < 1.5, `row ${i + 1} at ${at - top}`));
    }
    // The edge of the canvas takes 2 pixels.
    assert.equal(found[0], TALL - 2);
    assert.equal(found[3], PITCH);
    assert(found[1] > found[2] && found[2] > PITCH, `${found}`);
  });

  await test('and another height of the screen is another height of theirs', async () => {
    await compare(page, open, link(6));
    const before = await pitch(page);
    await page.setViewportSize({ width: 1280, height: 900 });
    await settle(page);
    const after = await pitch(page);
    assert(after < before && after >= PITCH, `${before}, ${after}`);
  });
});

const scrollless = (bottom) => bottom <= tall.viewport.height;

pageTest('a colour belongs to an algorithm', tall, async ({ page, open }) => {
  const colours = () => page.$$eval('.lane .number', (all) => all.map((it) => getComputedStyle(it).backgroundColor));
  await compare(page, open, `${quiet}&lanes=token-bucket;earrrl;sliding-log`);
  const [bucket, average, log] = await colours();
  await press(page, '.lane .remove >> nth=0');
  assert.deepEqual(await colours(), [average, log], 'the others keep theirs');
  await press(page, '.lane .down >> nth=0');
  assert.deepEqual(await colours(), [log, average], 'wherever they are');
  await compare(page, open, `${quiet}&lanes=token-bucket;token-bucket burst 3;sliding-log`);
  const [first, second, third] = await colours();
  assert.deepEqual([first, third], [bucket, log]);
  assert.equal(new Set([first, second, third]).size, 3, 'a second of the same is told from the first');
});

pageTest('the waits of who is refused', tall, async ({ page, open }) => {
  // At 1 s ten pass and one is refused. At 3 s four come, of which the bucket lets two pass. After 9 s of
  // silence comes one more.
  await compare(page, open, 'auto=off&lanes=token-bucket;sliding-log&at=20&paused&do=1:events*11,3:events*4,12:events');
  const waits = await page.$$eval('.lane .waits', (all) => all.map((it) => it.textContent));
  assert.match(waits[0], /^waits 2\.0\u202fs [▁-█ ]+ 9\.0\u202fs$/);
  assert.match(waits[1], /^waits 11\.0\u202fs$/, 'the log lets nothing pass before');
});
