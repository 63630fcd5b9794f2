// Each scenario on the page opens from its link, and the counters show what its sentence says.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { compare, counts, lane, opened, quiet, rules, scenario, sent, tall } from './compare.mjs';
import { press, settle, type, until } from './scope.mjs';

// The claims of each scenario: [allowed, refused] by lane. tests/scenarios.rs checks the rest of the claims.
const claims = {
  'A burst at the window’s edge': { sent: 20, lanes: { 'fixed-window': [20, 0], 'sliding-log': [10, 10], 'token-bucket': [12, 8] } },
  'All eight, at random': { sent: 63, lanes: { 'fixed-window': [54, 9], 'token-bucket': [62, 1], earrrl: [42, 21], 'exim strict': [35, 28] } },
  'Token bucket against sliding window': { sent: 49, lanes: { 'token-bucket': [29, 20], 'sliding-window': [20, 29] } },
  'The relentless abuser': { sent: 299, lanes: { earrrl: [17, 282], 'exim strict': [11, 288] } },
  'The repentant abuser': { sent: 401, lanes: { 'earrrl 1/1s half-life 20s': [90, 311] } },
  'Steady, just under the limit': { sent: 113, lanes: { 'sliding-counter': [108, 5], 'sliding-log': [113, 0] } },
  'Many small bursts': { sent: 150, lanes: { 'sliding-log': [140, 10], 'exim strict': [133, 17] } },
  'Slow start, then spam': {
    sent: 285 + 299, lanes: { 'adaptive x3 decay 10s increase 2m floor 5 strict': [285 + 16, 299 - 16] },
  },
  'Ten days: a slow start, then spam at night': {
    sent: 1713 + 98,
    lanes: {
      'adaptive x4 decay 2s increase 3m floor 6 by hour day 1m': [1811 - 46, 46],
      'adaptive x4 decay 2s increase 3m floor 6': [1811 - 129, 129],
      'exim 30/2s': [1811, 0],
    },
  },
  'Expensive requests': { sent: 31, lanes: { 'token-bucket': [30, 1], 'sliding-log': [29, 2], earrrl: [22, 9] } },
  // Ten of Ann's pass in every 10 s in both lanes. Per user, all of Bob's 19 pass besides.
  'Two users behind one address': { sent: 179 + 19, lanes: { 'sliding-log per ip': [60, 138], 'sliding-log per user': [60 + 19, 119] } },
  'One a minute, as servers count it': { sent: 11, lanes: { nginx: [6, 5], 'haproxy allowed': [4, 7], 'envoy burst 1': [11, 0] } },
  'Three users, three rates': { sent: 1662, lanes: { 'earrrl half-life 10s per user': [1662, 0] } },
  'Stampeding elephants': { sent: 96, lanes: { 'fixed-window per user': [84, 12], 'sliding-log per user': [56, 40] } },
  'Exim of 2009 and today': { sent: 20, lanes: { 'exim strict': [9, 11], 'exim-2009 strict': [20, 0] } },
  'Why blue': { sent: 59, lanes: { 'exim 60/10s strict': [59, 0], 'adaptive x12 decay 10s increase 10m floor 2': [42, 17] } },
  'An average of windows': { sent: 64, lanes: { 'windowed-average': [55, 9], earrrl: [34, 30], 'exim strict': [29, 35] } },
  // Of clients, each lane has its own.
  'Those who try again at once': { sent: 0, clients: true, lanes: { 'exim strict': [11, 229], 'exim leaky': [40, 43] } },
  'A herd at the window’s edge': { sent: 0, clients: true, lanes: { 'fixed-window': [100, 80], 'fixed-window retry retry-after full': [100, 49] } },
  'What Retry-After is worth': { sent: 0, clients: true, lanes: { 'sliding-log': [50, 1960], 'sliding-log retry retry-after': [50, 20] } },
  'Backoff that overshoots': { sent: 0, clients: true, lanes: { 'fixed-window': [40, 81], 'fixed-window retry retry-after': [40, 30] } },
  'One client without manners': { sent: 0, clients: true, lanes: { 'token-bucket': [95, 522], 'exim strict': [10, 1186] } },
  'Two data centres': { sent: 449, lanes: { 'sliding-log share exact': [300, 149], 'sliding-log share synced 1s': [327, 122], 'sliding-log share alone': [449, 0] } },
  'A flood at forty processes': { sent: 9178, lanes: { 'sliding-log share leased 1s': [559, 8619], 'sliding-log share synced 1s': [1596, 7582] } },
};

pageTest('the scenarios', tall, async ({ page, open, test }) => {
  await compare(page, open, 'auto=off');
  const listed = await page.$$eval('#scenarios a', (links) => links.map((link) => link.textContent));
  assert.deepEqual(listed, Object.keys(claims));
  for (const [name, claim] of Object.entries(claims)) {
    await test(name, async () => {
      await scenario(page, name);
      await page.clock.runFor(50);
      assert.equal(await page.textContent('.told strong'), name);
      assert((await page.textContent('.told')).length > 100);
      await page.locator('#story-end').click();
      await page.clock.runFor(50);
      const hash = await page.locator('#scenarios a').nth(listed.indexOf(name)).evaluate(({ hash }) => decodeURIComponent(hash));
      assert.equal(await page.evaluate(() => decodeURIComponent(location.hash)), hash);
      assert.equal(await sent(page), claim.sent);
      const [texts, found] = [await rules(page), await counts(page)];
      for (const [rule, expected] of Object.entries(claim.lanes)) {
        assert.deepEqual(found[texts.indexOf(rule)], expected, rule);
      }
      if (!claim.clients) for (const [passed, denied] of found) assert.equal(passed + denied, await sent(page));
      assert.equal(await page.textContent('#note'), 'paused');
      const [story, graph] = await Promise.all(['#story', '#graph'].map((it) => page.locator(it).boundingBox()));
      assert(story.y >= 0 && graph.y >= story.y + story.height && graph.y < 500, `its sentence and its picture are in sight: ${story.y}, ${graph.y}`);
    });
  }
});

pageTest('a scenario can be followed again and again', async ({ page, open }) => {
  await compare(page, open, 'auto=off');
  for (let i = 0; i < 3; i++) {
    await scenario(page, 'The relentless abuser');
    await page.clock.runFor(50);
    // A minute of the run is played in 15 s, from its start.
    assert(await sent(page) < 2);
    await page.clock.runFor(5000);
    assert(Math.abs(await sent(page) - 100) <= 3);
    await page.locator('#story-end').click();
    await page.clock.runFor(50);
    assert.equal(await sent(page), 299);
  }
});

pageTest('a scenario leaves nothing wrong behind, not even the same one again', tall, async ({ page, open }) => {
  await compare(page, open, quiet);
  const follow = () => scenario(page, 'A burst at the window’s edge');
  const shown = async () => [
    await rules(page), await page.locator('.lane .error, #add-error, #limit-error').allTextContents(),
    await page.locator('[aria-invalid="true"]').count(),
  ];
  await follow();
  await page.locator('#story-end').click();
  await until(page, () => document.querySelector('#sent').dataset.value === '20');
  const expected = await shown();
  assert.deepEqual(expected.slice(1), [Array(5).fill(''), 0]);
  await (await opened(page, 1)).fill('fixed-door');
  await lane(page, 1).dispatchEvent('change');
  await type(page, 'limit', 'ten');
  await type(page, 'add', 'bucket');
  await press(page, '#add-lane');
  assert.equal((await shown())[2], 3);
  await follow();
  await page.locator('#story-end').click();
  await settle(page);
  assert.deepEqual(await shown(), expected);
});
