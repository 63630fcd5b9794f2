// A lane explains its limiter, and tells its promise and when the next event would pass; and "Only these" chooses
// a few lanes.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { click, compare, counts, lane, opened, quiet, rules, tall } from './compare.mjs';
import { address, press, settle, until } from './scope.mjs';

pageTest('lanes', tall, async ({ page, open, test }) => {
  await test('only the chosen ones stay, with what they know', async () => {
    await compare(page, open, quiet);
    await click(page, 1, 12);
    const before = await counts(page);
    assert.equal(await page.locator('.only:visible').count(), 0);
    await press(page, '.lane .number >> nth=2');
    await press(page, '.lane .number >> nth=5');
    assert.equal(await page.getAttribute('.lane .number >> nth=2', 'aria-pressed'), 'true');
    await press(page, '.lane .what >> nth=1');
    await press(page, '.only:visible');
    assert.deepEqual(await rules(page), ['sliding-counter', 'leaky-bucket']);
    assert.equal(await page.locator('.about:visible').count(), 0, 'what was said of another limiter is gone');
    assert.deepEqual(await counts(page), [before[2], before[5]]);
    assert.equal(await page.locator('.number[aria-pressed=true]').count(), 0);
    await address(page, 'lanes=sliding-counter;leaky-bucket&');
  });

  await test('each tells what it promises, and when the next event would pass', async () => {
    await compare(page, open, `${quiet}&lanes=token-bucket;sliding-log;token-bucket burst 0.5;sliding-window`);
    assert.equal(await page.textContent('#promise-1'), 'at most 19 in any 10\u202fs');
    assert.equal(await page.textContent('#promise-2'), 'at most 10 in any 10\u202fs');
    assert.equal(await page.textContent('#again-1'), 'next now');
    await click(page, 1, 10);
    assert.equal(await page.textContent('#again-1'), 'next in 1.0\u202fs');
    assert.equal(await page.textContent('#again-2'), 'next in 10.0\u202fs');
    assert.equal(await page.textContent('#again-3'), 'next never');
    // Nobody wrote the precision, a sixtieth of the window, so it is shown rounded and not in microseconds.
    assert.equal(await page.getAttribute('#promise-4', 'title'), 'sliding-window 10/10s per ip');
  });

  await test('each says what it is, beside it', async () => {
    await compare(page, open, `${quiet}&lanes=earrrl half-life 20s;3/1s %26 gcra;gcra;haproxy 10/1m`);
    for (const [i, term] of ['earrrl', 'a & b', 'gcra', 'nginx, haproxy, envoy, fail2ban'].entries()) {
      await press(page, `.lane .what >> nth=${i}`);
      const about = page.locator('.about:visible');
      assert.equal(await about.locator('dt').textContent(), term);
      assert.match(await about.textContent(), /Good for/);
      const [row, box] = await Promise.all([page.locator('.lane').nth(i), about].map((it) => it.boundingBox()));
      assert(box.y >= row.y && box.y < row.y + 60, 'right below its head');
    }
    await page.keyboard.press('Escape');
    assert.equal(await page.locator('.about:visible').count(), 0);
    await press(page, '.lane .what >> nth=0');
    await press(page, '.lane .what >> nth=0');
    assert.equal(await page.locator('.about:visible').count(), 0);
  });

  await test('a bound for each user says so', async () => {
    await compare(page, open, `${quiet}&lanes=sliding-log per ip;sliding-log per user`);
    assert.equal(await page.textContent('#promise-1'), 'at most 10 in any 10\u202fs');
    assert.equal(await page.textContent('#promise-2'), 'at most 10 in any 10\u202fs per user');
  });

  await test('one that was removed is brought back', async () => {
    await compare(page, open, `${quiet}&lanes=gcra;sliding-log;earrrl`);
    await press(page, '.lane .remove >> nth=1');
    assert.deepEqual(await rules(page), ['gcra', 'earrrl']);
    await page.keyboard.press('Control+z');
    await settle(page);
    assert.deepEqual(await rules(page), ['gcra', 'sliding-log', 'earrrl']);
    await page.clock.runFor(1100);
    await press(page, '.lane .up >> nth=2');
    await press(page, '#undo');
    assert.deepEqual(await rules(page), ['gcra', 'sliding-log', 'earrrl']);
  });

  await test('the answers on top are gone once other lanes are in force', async () => {
    await compare(page, open, `${quiet}&lanes=gcra;sliding-log;earrrl`);
    const answers = () => page.$$eval('[data-asks]', (all) => all.map(({ value }) => value));
    for (const id of ['bursts', 'exact', 'punishes']) await page.selectOption(`#${id}`, id === 'bursts' ? 'no' : 'yes');
    await settle(page);
    assert.deepEqual([await answers(), await rules(page)], [['no', 'yes', 'yes'], ['sliding-log & token-bucket burst 1']]);
    assert.match(await page.textContent('#asked'), /come closest/);
    await click(page, 1, 2);
    assert.deepEqual(await answers(), ['no', 'yes', 'yes']);
    await press(page, '#undo');
    assert.notDeepEqual(await rules(page), ['sliding-log & token-bucket burst 1']);
    assert.deepEqual([await answers(), await page.textContent('#asked')], [['', '', ''], '']);
  });

  await test('a lane is written in as the box for another one is', async () => {
    await compare(page, open, quiet);
    assert.equal(await lane(page, 1).getAttribute('list'), await page.getAttribute('#add', 'list'));
    assert.notEqual(await lane(page, 1).evaluate((box) => getComputedStyle(box).borderStyle), 'none');
    assert.equal(await page.locator('.remove svg').count(), 8);
  });
});

pageTest('while one types, the last good text stays in force', tall, async ({ page, open }) => {
  await compare(page, open, `${quiet}&lanes=token-bucket;sliding-log`);
  await click(page, 1, 12);
  await (await opened(page, 1)).click();
  await page.keyboard.press('Control+a');
  const graph = await page.locator('#graph').boundingBox();
  for (const letter of 'gcra burst 3') {
    await page.keyboard.press(letter === ' ' ? 'Space' : letter);
    await settle(page);
    const [[passed, denied]] = await counts(page);
    assert.equal(passed + denied, 12, 'it never forgets');
    assert.equal(await page.textContent('#lane-1-error'), '', 'nothing is said while one types');
  }
  assert.deepEqual((await counts(page))[0], [3, 9]);
  await page.keyboard.type(' x');
  await page.clock.runFor(700);
  assert.equal(await page.textContent('#lane-1-error'), '', 'nor just after it');
  await until(page, () => document.querySelector('#lane-1-error').textContent.includes('"x"'));
  assert.deepEqual(await page.locator('#graph').boundingBox(), graph, 'nothing moves');
  const [row, said] = await Promise.all(['.lane', '#lane-1-error'].map((it) => page.locator(it).first().boundingBox()));
  assert(said.y >= row.y - 1 && said.y + said.height <= row.y + row.height + 1, 'nothing is covered');
  assert.deepEqual((await counts(page))[0], [3, 9]);
});
