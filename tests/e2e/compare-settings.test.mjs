// The settings of all lanes: the limit, the cost of an event, and the script.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { allowed, click, compare, counts, opened, quiet, rules, sent, tall } from './compare.mjs';
import { press, settle, step, type, wrong } from './scope.mjs';

pageTest('what all lanes share', tall, async ({ page, open, test }) => {
  await test('one limit per period sets all lanes but those with their own', async () => {
    await compare(page, open, `${quiet}&lanes=token-bucket;fixed-window 4/10s;sliding-log;exim strict`);
    await type(page, 'limit', '6/10s');
    await click(page, 1, 8);
    assert.deepEqual(await allowed(page), [6, 4, 6, 6]);
    await press(page, '[data-step=limit][data-by="1"]');
    assert.equal(await page.inputValue('#limit'), '7/10s');
    await click(page, 1, 8);
    // The new limit decided the first eight events, too.
    assert.deepEqual(await allowed(page), [7, 4, 7, 7]);
    await page.locator('#limit').press('ArrowDown');
    await page.locator('#limit').press('ArrowDown');
    assert.equal(await page.inputValue('#limit'), '5/10s');
    assert.deepEqual(await rules(page), ['token-bucket', 'fixed-window 4/10s', 'sliding-log', 'exim strict']);
  });

  await test('a wrong limit changes nothing and says why', async () => {
    await compare(page, open, `${quiet}&lanes=token-bucket;sliding-log`);
    await type(page, 'limit', '6/10s');
    for (const text of ['', 'abc', '0/10s', '-1/10s', '6/0s', '6/10', '1000000/1s', '6/10x']) {
      await type(page, 'limit', text);
      const [message, invalid] = await wrong(page, 'limit');
      assert(message.endsWith('. Still using 6/10s.') && message.length > 25, `'${text}': ${message}`);
      assert.equal(invalid, 'true');
    }
    await click(page, 1, 8);
    assert.deepEqual(await counts(page), [[6, 2], [6, 2]]);
    await type(page, 'limit', '6/10s');
    assert.deepEqual(await wrong(page, 'limit'), ['', 'false']);
  });

  await test('the buttons stop at one event', async () => {
    await compare(page, open, `${quiet}&limit=2/1m`);
    for (const shown of ['1/1m', '1/1m']) {
      await press(page, '[data-step=limit][data-by="-1"]');
      assert.equal(await page.inputValue('#limit'), shown);
    }
  });

  await test('an event of cost 3 counts as three where cost counts', async () => {
    await compare(page, open, quiet);
    await type(page, 'cost', '3');
    await click(page, 1, 8);
    // Three events take 9 of 10. The recent average has counted 0, 3, 6, 9 and 12 before its first five
    // events, which is below its limit of 10 / ln 2 = 14.4.
    assert.deepEqual(await allowed(page), [3, 3, 3, 3, 3, 3, 3, 5]);
    await press(page, '[data-step=cost][data-by="-1"]');
    assert.equal(await page.inputValue('#cost'), '2');
    await type(page, 'cost', 'much');
    assert.match((await wrong(page, 'cost'))[0], /\. Still using 2\.$/);
    // An event of cost 0 passes where the limit is not exceeded yet.
    await type(page, 'cost', '0');
    const before = await counts(page);
    await click(page, 1);
    const after = await counts(page);
    assert.deepEqual(after.map(([passed, denied], i) => passed + denied - before[i][0] - before[i][1]), Array(8).fill(1));
    assert.equal(after[4][0], 4);
  });

  await test('scripted events come at their time', async () => {
    await compare(page, open, `${quiet}&lanes=token-bucket;sliding-log`);
    await type(page, 'script', '8 at 6s, 1 at 7s cost 5, 2/1s from 10s to 12s');
    await step(page, 10);
    assert.equal(await sent(page), 0, 'an event at the very end waits');
    await step(page, 1);
    assert.deepEqual([await sent(page), await counts(page)], [8, [[8, 0], [8, 0]]]);
    // At 7 s the bucket has 7 of 10 in use and the log 8: 5 more fit into neither.
    await step(page, 10);
    assert.deepEqual(await counts(page), [[8, 1], [8, 1]]);
    // Three more come, at 10.5, 11 and 11.5 s, and none at 12 s.
    await step(page, 50);
    assert.equal(await sent(page), 12);
    await type(page, 'script', '8 at');
    const [message, invalid] = await wrong(page, 'script');
    assert(message.length > 10 && invalid === 'true', message);
    await type(page, 'script', '');
    await step(page, 30);
    assert.equal(await sent(page), 12);
  });

  await test('a user counts apart where a lane says so', async () => {
    await compare(page, open, `${quiet}&lanes=token-bucket per user;token-bucket`);
    await type(page, 'script', '10 at 6s user ann, 10 at 6s user bob');
    await step(page, 11);
    assert.deepEqual(await allowed(page), [20, 10]);
  });

  await test('a limit below one event is lowered no further, and raised to one', async () => {
    await compare(page, open, `${quiet}&limit=0.5/1m`);
    for (const [name, value] of [['Lower limit', '0.5/1m'], ['Higher limit', '1/1m'], ['Lower limit', '1/1m']]) {
      await page.getByRole('button', { name }).click();
      assert.equal(await page.inputValue('#limit'), value);
    }
  });

  await test('a limit that a lane can not have is refused with the lane’s reason', async () => {
    await compare(page, open, `${quiet}&lanes=sliding-window precision 5s;token-bucket`);
    await type(page, 'limit', '10/1s');
    const [message, invalid] = await wrong(page, 'limit');
    assert.match(message, /precision.* Still using 10\/10s\.$/s);
    assert.equal(invalid, 'true');
    await (await opened(page, 1)).fill('sliding-window');
    await settle(page);
    await type(page, 'limit', '10/1s');
    assert.deepEqual(await wrong(page, 'limit'), ['', 'false']);
  });
});
