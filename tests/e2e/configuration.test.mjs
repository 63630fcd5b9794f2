// A limiter as the lines of a server, and the lines of a server as a limiter.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { compare, quiet, rules, tall } from './compare.mjs';
import { press, show } from './scope.mjs';
import { choose, counted, log, says, text, tune } from './tune.mjs';

const nginx = `limit_req_zone $binary_remote_addr zone=login:10m rate=10r/m;
limit_req_zone $binary_remote_addr zone=api:10m rate=5r/s;
location /login { limit_req zone=login burst=5 nodelay; }
location /api { limit_req zone=api burst=20; }
limit_req zone=other;
`;

const dialog = (page) => page.locator('dialog.configuration');

// Waits until the dialog shows a text or says why there is none.
const written = async (page) => {
  await dialog(page).locator('pre:visible, .notes li').first().waitFor();
  return dialog(page).locator('pre').textContent();
};

// Pastes a text into a box; returns whether the box takes it by itself.
const paste = (page, selector, text) => page.$eval(selector, (box, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData('text', text);
  return box.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
}, text);

pageTest('configuration', tall, async ({ page, open, test }) => {
  await test('a lane is written for a server, with what differs there', async () => {
    await compare(page, open, `${quiet}&limit=10/5s&lanes=token-bucket;sliding-log`);
    await press(page, '.lane .code >> nth=0');
    assert.equal(await written(page), '# In the http block:\nlimit_req_zone $binary_remote_addr zone=limit1:10m rate=2r/s;\n\n# In a server or location block:\nlimit_req zone=limit1 burst=9 nodelay;\nlimit_req_status 429;\n');
    assert.equal(await dialog(page).locator('h2').textContent(), 'Lane 1, token-bucket: nginx.conf');
    assert.match(await dialog(page).locator('.notes').textContent(), /is written as "nginx 2\/1s burst 9 nodelay"/);
    await dialog(page).getByText('Close').click();
    await press(page, '.lane .code >> nth=1');
    await dialog(page).locator('.notes li').first().waitFor();
    await page.waitForFunction(() => document.querySelector('.configuration .notes').textContent.includes('nginx cannot say'));
    assert(await dialog(page).locator('.copies').isDisabled(), 'there is nothing to copy');
    await dialog(page).locator('select').selectOption('caddy');
    await page.waitForFunction(() => /window\s+5s/.test(document.querySelector('.configuration pre').textContent));
    await page.keyboard.press('Escape');
    assert(!(await dialog(page).isVisible()));
  });

  await test('a configuration that is pasted into a lane becomes its limiter', async () => {
    await compare(page, open, `${quiet}&lanes=gcra;sliding-log`);
    await press(page, '.lane .pencil >> nth=1');
    assert.equal(await paste(page, '.lane input >> nth=1', 'gcra 1/1s'), true, 'a line is the box’s own matter');
    assert.equal(await paste(page, '.lane input >> nth=1', nginx), false);
    await dialog(page).locator('.found button').first().waitFor();
    assert.deepEqual(await dialog(page).locator('.found li').allTextContents(), [
      'Take nginx 10/1m burst 5 nodelay nginx login location /login, line 3',
      'Take nginx 5/1s burst 20 nginx api location /api, line 4',
      'line 5: the zone "other" is not defined here',
    ]);
    await dialog(page).locator('.found button').nth(1).click();
    assert(!(await dialog(page).isVisible()));
    assert.deepEqual(await rules(page), ['gcra', 'nginx 5/1s burst 20']);
  });

  await test('what is no configuration is said to be none, and changes nothing', async () => {
    await compare(page, open, `${quiet}&lanes=gcra`);
    await press(page, '.lane .code');
    await written(page);
    for (const text of ['hello', 'limit_req_zone $key zone=one:1m rate=1r/s;\nlimit_req zone=one;', '{'.repeat(100_000), '\u0000']) {
      await dialog(page).locator('textarea').fill('');
      await dialog(page).locator('textarea').fill(text);
      await dialog(page).locator('.found li').first().waitFor();
      assert.equal(await dialog(page).locator('.found button').count(), 0);
    }
    await dialog(page).getByText('Close').click();
    assert.deepEqual(await rules(page), ['gcra']);
  });
});

pageTest('the limiter of the Scope is written for Exim first, and taken from a server', async ({ page, open }) => {
  await show(page, open, 'auto=off&limit=10&decay=10s&mode=strict');
  await press(page, '#configure');
  assert.match(await written(page), /ratelimit = 10 \/ 10s \/ per_mail \/ strict/);
  await dialog(page).locator('textarea').fill(nginx);
  await dialog(page).locator('.found button').first().click();
  assert.equal(await page.inputValue('#limiter'), 'nginx 10/1m burst 5 nodelay');
});

pageTest('a configuration that is given to Tune is today’s limit', async ({ page, open, test }) => {
  const takes = async (limiter) => {
    await dialog(page).locator('.found button', { hasText: limiter }).click();
    assert(!(await dialog(page).isVisible()));
    assert.equal(await page.inputValue('#today'), limiter);
    await counted(page);
  };
  await tune(page, open);

  await test('but there has to be a log', async () => {
    await choose(page, ['nginx.conf', nginx]);
    await says(page, 'problem', /^This is the configuration of a server\. Open a log first/);
    await choose(page, ['access.log', log({ '192.0.2.1': 30, '192.0.2.2': 3 })]);
    await says(page, 't-read', /^33 requests from 2 clients/);
    await counted(page);
  });

  await test('pasted on the page, or dropped', async () => {
    await paste(page, 'body', nginx);
    await dialog(page).locator('.found button').first().waitFor();
    assert.equal(await text(page, 'problem'), '');
    assert.equal(await dialog(page).locator('.found li').last().textContent(), 'line 5: the zone "other" is not defined here');
    await takes('nginx 10/1m burst 5 nodelay');
    assert.match(await text(page, 't-today'), /^Today, nginx 10\/1m burst 5 nodelay would have refused 20 of 33 requests/);
    await choose(page, ['jail.local', '[sshd]\nenabled = true\nmaxretry = 20\nfindtime = 1m\nbantime = 10m\n']);
    await takes('fail2ban 20/1m ban 10m');
    assert.match(await text(page, 't-today'), /^Today, fail2ban 20\/1m ban 10m would have refused 11 of 33 requests/);
  });

  await test('pasted into its box, while the limit is written for a server', async () => {
    assert.equal(await paste(page, '#today', nginx), false);
    assert.equal(await dialog(page).locator('h2').textContent().then((title) => title.split(':')[0]), 'Today’s limit');
    await takes('nginx 5/1s burst 20');
  });

  await test('of one that is not understood it is said why, and the log stays', async () => {
    await paste(page, 'body', 'limit_req_zone $key zone=one:1m rate=1r/s;\nlimit_req zone=one;\n');
    await dialog(page).locator('.found li').first().waitFor();
    assert.match(await dialog(page).locator('.found').textContent(), /line 1: it counts by \$key, which is no field of a log/);
    await page.keyboard.press('Escape');
    assert.equal(await page.inputValue('#today'), 'nginx 5/1s burst 20');
    await page.locator('#key').fill('path');
    await says(page, 't-read', /^33 requests from 30 clients/);
  });
});
