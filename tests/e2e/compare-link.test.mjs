// A link reproduces the comparison; the address follows it.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { click, compare, compareStopped, counts, lane, quiet, rules, sent, tall } from './compare.mjs';
import { clipboard, crisp, picture, press, recording, reload, settle, step, type } from './scope.mjs';

const hash = (page) => page.evaluate(() => decodeURIComponent(location.hash));
const address = (page, part) => page.waitForFunction((part) => decodeURIComponent(location.hash).includes(part), part);

// At 1 device pixel a pixel, as for the scope.
const copying = { ...crisp, ...tall, deviceScaleFactor: 1, ...clipboard };

pageTest('the copied link reproduces the picture', copying, async ({ page, context, origin, open }) => {
  await compare(page, open, 'auto-rate=4&seed=9&limit=8/10s&at=2&paused');
  await step(page, 30);
  await page.locator('#pattern').selectOption('bursts');
  await step(page, 50);
  await lane(page, 2).fill('earrrl half-life 20s');
  await press(page, '.lane .remove >> nth=6');
  for (let i = 0; i < 4; i++) await click(page, 3);
  await step(page, 31);
  await type(page, 'add', '3/1s & token-bucket per user');
  await press(page, '#add-lane');
  await press(page, '.lane .up >> nth=3');
  await type(page, 'limit', '12/10s');
  await type(page, 'cost', '2');
  await type(page, 'script', '5 at 14s user ann, 3/1s from 15s');
  await step(page, 40);
  await page.locator('#auto').uncheck();
  await click(page, 1, 2);
  await page.locator('#window').selectOption('30s');
  await step(page, 12);
  const link = await recording(page);
  await page.mouse.move(5, 5);
  await settle(page);
  const [seen, events, picture1] = [await counts(page), await sent(page), await picture(page)];
  assert(seen.every(([passed]) => passed > 0) && seen.some(([, denied]) => denied > 0), `${seen}`);

  const other = await context.newPage();
  await compare(other, (path) => other.goto(origin + path), link);
  assert.deepEqual([await counts(other), await sent(other)], [seen, events]);
  assert.deepEqual(await rules(other), await rules(page));
  assert.equal(await other.textContent('#note'), 'paused');
  for (const id of ['limit', 'cost', 'pattern', 'auto-rate', 'seed', 'script', 'speed', 'window']) {
    assert.equal(await other.inputValue(`#${id}`), await page.inputValue(`#${id}`), id);
  }
  assert(await picture(other) === picture1, 'the pictures differ');
  // And its own link is the same one.
  assert.equal(await recording(other), link);
});

pageTest('links', tall, async ({ page, open, test }) => {
  await test('the address follows the settings, and a reload keeps them', async () => {
    await compare(page, open, quiet);
    await type(page, 'limit', '25/1m');
    await address(page, 'limit=25/1m');
    await lane(page, 1).fill('3/1s & gcra');
    await page.locator('#speed').selectOption('5');
    await address(page, 'lanes=3/1s & gcra;earrrl;');
    await address(page, 'speed=5');
    await reload(page);
    assert.deepEqual([await page.inputValue('#limit'), (await rules(page))[0]], ['25/1m', '3/1s & gcra']);
    assert.equal(await page.evaluate(() => history.length), 2, 'settings make no history');
  });

  await test('the address of a run stays until something is changed', async () => {
    const link = 'auto=off&at=5&paused&do=1:events*13';
    await compare(page, open, link);
    const seen = await counts(page);
    assert.equal(await hash(page), `#${link}`);
    await reload(page);
    assert.deepEqual([await counts(page), await hash(page)], [seen, `#${link}`]);
  });

  await test('another fragment begins at once, and back returns', async () => {
    await compare(page, open, `${quiet}&limit=3/10s`);
    await page.evaluate(() => { location.hash = '#auto=off&lanes=gcra;exim&at=7&paused&limit=4/10s&do=2:events*6'; });
    await page.waitForFunction(() => document.querySelector('#limit').value === '4/10s');
    await settle(page);
    assert.deepEqual(await rules(page), ['gcra', 'exim']);
    assert.deepEqual((await counts(page))[0], [4, 2]);
    await page.goBack();
    await page.waitForFunction(() => document.querySelector('#limit').value === '3/10s');
    await settle(page);
    assert.equal((await rules(page)).length, 8);
  });

  await test('a wrong link says what is wrong, and the run goes on', async () => {
    for (const [link, problem] of [
      ['limit=ten', '"ten" in "limit=ten"'],
      ['lanes=gcra;bucket', '"bucket" in'],
      ['evnts=3', '"evnts" in "evnts=3": not part of a link'],
      ['script=3 at', 'script=3 at'],
      [`lanes=${Array(13).fill('gcra').join(';')}`, 'more than 12 lanes'],
    ]) {
      await compare(page, open, `${quiet}&do=1:events*3`);
      await page.evaluate((link) => { location.hash = link; }, link);
      await page.waitForFunction((problem) => document.querySelector('#note').textContent.includes(problem), problem);
      assert.equal(await sent(page), 3);
      await click(page);
      assert.deepEqual([await sent(page), await page.textContent('#note')], [4, 'paused']);
    }
  });
});

pageTest('a wrong link is told on load, and the page works', tall, async ({ page, open }) => {
  await compare(page, open, 'lanes=gcra;nothing');
  assert.match(await page.textContent('#note'), /"nothing" in/);
  assert.equal((await rules(page)).length, 8);
  const before = await sent(page);
  await click(page);
  assert(await sent(page) > before);
  assert(await page.locator('#failed').isHidden());
});

pageTest('a scenario can be followed again and again', async ({ page, open }) => {
  await compareStopped(page, open, 'auto=off');
  for (let i = 0; i < 3; i++) {
    await page.getByRole('link', { name: 'The relentless abuser' }).click();
    await page.clock.runFor(50);
    // A minute of it is played in 15 s, from the start.
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
  const scenario = page.getByRole('link', { name: 'A burst at the window’s edge' });
  const shown = async () => [
    await rules(page), await page.locator('.lane .error, #add-error, #limit-error').allTextContents(),
    await page.locator('[aria-invalid="true"]').count(),
  ];
  await scenario.click();
  await page.locator('#story-end').click();
  await page.waitForFunction(() => document.querySelector('#sent').dataset.value === '20');
  const expected = await shown();
  assert.deepEqual(expected.slice(1), [Array(7).fill(''), 0]);
  await lane(page, 1).fill('fixed-door');
  await lane(page, 1).dispatchEvent('change');
  await type(page, 'limit', 'ten');
  await type(page, 'add', 'bucket');
  await press(page, '#add-lane');
  assert.equal((await shown())[2], 3);
  await scenario.click();
  await page.locator('#story-end').click();
  await settle(page);
  assert.deepEqual(await shown(), expected);
});
