// Clients that try again: their controls, the table of their jobs, and their links.

import assert from 'node:assert/strict';
import { compare, rules } from './compare.mjs';
import { pageTest } from './harness.mjs';
import { address, settle, until } from './scope.mjs';

const run = 'limit=10/10s&auto=off&lanes=sliding-log;sliding-log%20retry%20retry-after&at=60&paused';

// The cells of the table, row by row; the space between a number and its unit is narrow.
const table = (page) => page.$$eval('#jobs tbody tr', (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent.replaceAll('\u202f', ' '))));

pageTest('a way to try again gives each lane clients, and a table tells of their jobs', async ({ page, open }) => {
  await compare(page, open, run);
  assert(await page.locator('#jobs').isHidden() && await page.locator('#clients-count').isHidden());
  // By keyboard.
  await page.focus('#clients-retry');
  await page.selectOption('#clients-retry', 'at once');
  await settle(page);
  assert.equal(await page.inputValue('#script'), '10 clients of 20 retry at once');
  assert(await page.locator('#clients-wait').isHidden());
  await page.fill('#clients-count', '5');
  await page.fill('#clients-requests', '10');
  await page.press('#clients-requests', 'Enter');
  await settle(page);
  await address(page, 'script=5 clients of 10 retry at once');
  await page.selectOption('#clients-retry', 'exponential');
  await page.fill('#clients-most', '8s');
  await page.selectOption('#clients-jitter', 'full');
  await settle(page);
  assert.equal(await page.inputValue('#script'), '5 clients of 10 retry exponential 1s x2 most 8s full');
  await page.selectOption('#clients-retry', '');
  await settle(page);
  assert.equal(await page.inputValue('#script'), '');
  assert(await page.locator('#jobs').isHidden());
});

pageTest('a link has the clients, and lanes may try again in ways of their own', async ({ page, open }) => {
  await compare(page, open, `${run}&script=5%20clients%20of%2010%20retry%20at%20once,1%20at%201s`);
  await until(page, () => document.getElementById('job-2-1')?.textContent.startsWith('after'));
  assert.deepEqual(await rules(page), ['sliding-log', 'sliding-log retry retry-after']);
  const [once, told] = await table(page);
  assert.deepEqual(once.slice(0, 2), ['1 sliding-log', 'after 40.2 s']);
  assert.equal(told[0], '2 sliding-log retry retry-after');
  assert.deepEqual(await page.$$eval('#clients :is(select, input)', (boxes) => boxes.slice(0, 3).map((box) => box.value)), ['at once', '5', '10']);
  // The other phases stay.
  await page.selectOption('#clients-retry', 'every');
  await settle(page);
  assert.equal(await page.inputValue('#script'), '5 clients of 10 retry every 1s, 1 at 1s');
});

pageTest('what has no control stays when a control is changed', async ({ page, open }) => {
  for (const [script, then] of [
    ['4 clients of 10 answer 1s retry at once', '4 clients of 7 answer 1s retry at once'],
    ['3 clients of 10 at 5s retry exponential 1s full', '3 clients of 7 at 5s retry exponential 1s x2 most 1m full'],
    ['1 client of 10 retry at once user rude, 1 at 1s', '1 client of 7 retry at once user rude, 1 at 1s'],
  ]) {
    await compare(page, open, `${run}&script=${encodeURIComponent(script)}`);
    await page.fill('#clients-requests', '7');
    await page.press('#clients-requests', 'Enter');
    await settle(page);
    assert.equal(await page.inputValue('#script'), then);
  }
});

pageTest('what is wrong with clients is said beside them', async ({ page, open }) => {
  await compare(page, open, `${run}&script=5%20clients%20of%2010%20retry%20at%20once`);
  await page.fill('#clients-count', '51');
  await page.press('#clients-count', 'Enter');
  await settle(page);
  const invalid = () => page.$$eval('#clients [aria-invalid=true]', (all) => all.map(({ id, value }) => `${id} ${value}`));
  assert.match(await page.textContent('#clients-error'), /choose from 1 to 50/);
  assert.deepEqual(await invalid(), ['clients-count 51']);
  assert.equal(await page.inputValue('#script'), '5 clients of 10 retry at once');
  await page.fill('#clients-count', '6');
  // What is wrong stays to be corrected, also after the focus has left it and while another control is changed.
  await page.fill('#clients-pause', '2 x');
  await page.press('#clients-pause', 'Tab');
  await page.fill('#clients-requests', '12');
  await page.press('#clients-requests', 'Tab');
  await settle(page);
  assert.match(await page.textContent('#clients-error'), /^"2" in "6 clients/);
  assert.deepEqual(await invalid(), ['clients-pause 2 x']);
  assert.equal(await page.inputValue('#script'), '6 clients of 10 retry at once');
  await page.fill('#clients-pause', '2s');
  await page.press('#clients-pause', 'Tab');
  await settle(page);
  assert.deepEqual([await invalid(), await page.textContent('#clients-error')], [[], '']);
  assert.equal(await page.inputValue('#script'), '6 clients of 12 pause 2s retry at once');
  // A run that is taken back takes its controls along, even the one in focus.
  await page.clock.runFor(1100);
  await page.focus('#clients-retry');
  await page.selectOption('#clients-retry', 'never');
  await settle(page);
  assert.equal(await page.inputValue('#script'), '6 clients of 12 pause 2s retry never');
  await page.keyboard.press('Control+z');
  await settle(page);
  assert.equal(await page.inputValue('#script'), '6 clients of 12 pause 2s retry at once');
  assert.equal(await page.inputValue('#clients-retry'), 'at once');
});
