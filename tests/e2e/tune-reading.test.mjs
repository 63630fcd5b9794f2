// The page has the same options of reading as the command line: which requests count, and as how much.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { choose, counted, row, says, text, tune } from './tune.mjs';

// Some requests of each kind, a second apart; each kind has a client of its own.
const kinds = [['192.0.2.1', 'GET /api/a/1', 200, 20], ['192.0.2.2', 'POST /api/a/2', 404, 7], ['192.0.2.3', 'POST /login', 403, 5], ['2001:db8::1', 'GET /', 500, 3]];
const mixed = kinds.flatMap(([ip, request, status, count]) => Array.from({ length: count }, (_, i) =>
  `${ip} - - [02/Mar/2026:12:00:${String(i).padStart(2, '0')} +0000] "${request}?q=${i} HTTP/1.1" ${status} 1000\n`)).join('');

const fill = (page, name, value) => page.locator(`#${name}`).fill(value);
const wrong = (page, name, pattern) => says(page, `${name}-error`, pattern);
const fragment = (page) => page.evaluate(() => decodeURIComponent(location.hash));

pageTest('only some requests are looked at', async ({ page, open, test }) => {
  await tune(page, open);
  await choose(page, ['access.log', mixed]);
  await says(page, 't-read', /^35 requests from 4 clients/);

  for (const [what, name, value, read] of [
    ['by path', 'path', '/api', /^27 requests from 2 clients/],
    ['and method', 'method', 'post', /^7 requests from /],
    ['and status', 'status', '404, 5xx', /^7 requests from /],
    ['by two paths', 'path', '/api,/login', /^7 requests from /],
    ['by two statuses', 'status', '403,404', /^12 requests from 2 clients/],
  ]) {
    await test(what, async () => {
      await fill(page, name, value);
      await says(page, 't-read', read);
    });
  }

  await test('how many others there are is said, and to the server', async () => {
    assert.match(await text(page, 't-notes'), /Only those with path \/api or \/login and method post and status 403 or 404; 23 others are left out\./);
    await counted(page);
    const warnings = await text(page, 'warnings');
    assert.match(warnings, /this limit was chosen for requests with path \/api or \/login and method post only; put it where/);
    assert.match(warnings, /for requests with status 403 or 404 only, but nginx counts a request before its answer is known/);
  });

  await test('a wrong status says why, and the right one stays', async () => {
    await fill(page, 'status', '404,12');
    assert.equal(await wrong(page, 'status', /./), 'not a status; write 404, 4xx or 400-403. Still using 403,404.');
    assert.match(await text(page, 't-read'), /^12 requests/);
    assert.match(await fragment(page), /status=403,404/);
  });

  await test('a filter that leaves nothing is named, and the page stays of use', async () => {
    // The path first: without a status alone, the log would be read again.
    await fill(page, 'path', '/nowhere');
    await fill(page, 'status', '');
    await says(page, 'problem', /^access.log: the filter leaves none of 35 events: path \/nowhere and method post\nThe previous log is still shown\.$/);
    assert.match(await text(page, 'warnings'), /with status 403 or 404 only/);
    await fill(page, 'method', '');
    await fill(page, 'path', '');
    await says(page, 't-read', /^35 requests from 4 clients/);
    assert.equal(await text(page, 'problem'), '');
  });
});

pageTest('lines that name no client are told, and may be left out', async ({ page, open }) => {
  await tune(page, open);
  const line = (ip, i) => `${JSON.stringify({ time: 1_772_000_000 + i, ...ip && { ip } })}\n`;
  const lines = Array.from({ length: 398 }, (_, i) => line(i % 398 < 240 && `192.0.2.${i % 3}`, i)).join('');
  await choose(page, ['lines.json', lines]);
  await says(page, 't-read', /^398 events from 4 clients \(per ip\)/);
  assert.match(await text(page, 't-notes'), /158 of 398 have no ip, and count as one client\./);
  await counted(page);
  assert.equal((await row(page, '(none)'))[0], '158');
  await page.locator('#only-keyed').selectOption('true');
  await says(page, 't-read', /^240 events from 3 clients \(per ip\)/);
  assert.match(await text(page, 't-notes'), /158 without ip left out\./);
});

pageTest('what few need is there as well', async ({ page, open, test }) => {
  await tune(page, open, 'for=haproxy');
  await choose(page, ['access.log', mixed]);
  await says(page, 't-read', /^35 requests/);
  assert(await page.locator('#cost').isHidden());
  await page.locator('#more summary').press('Enter');

  await test('segments of a path', async () => {
    await fill(page, 'key', 'path');
    await says(page, 't-read', /from 4 clients \(per path\)/);
    await fill(page, 'path-depth', '1');
    await says(page, 't-read', /from 3 clients/);
    await fill(page, 'path-depth', '0');
    await wrong(page, 'path-depth', /^write auto, or a number from 1 to 255/);
    await fill(page, 'path-depth', 'auto');
    await fill(page, 'key', 'auto');
    await says(page, 't-read', /\(per ip\)/);
  });

  await test('addresses of IPv6 one by one', async () => {
    await counted(page);
    assert.match(await text(page, 't-clients'), /2001:db8::\/64/);
    assert.match(await text(page, 'configuration'), /track-sc0 src,ipmask\(32,64\) table/);
    await fill(page, 'ipv6-prefix', '128');
    await says(page, 't-clients', /2001:db8::1/);
    await says(page, 'configuration', /track-sc0 src table/);
    await fill(page, 'ipv6-prefix', '129');
    await wrong(page, 'ipv6-prefix', /^write a number of bits from 0 to 128/);
  });

  await test('what a request counts', async () => {
    await fill(page, 'cost', 'bytes');
    await says(page, 'configuration', /^a request counts as its bytes above, and as 1 for haproxy; let each count as 1/);
    await counted(page);
    assert.deepEqual((await row(page, '192.0.2.1')).slice(0, 2), ['20', '20,000']);
    await fill(page, 'cost', 'colour');
    await says(page, 'problem', /"colour": not a field of this log; it has ip, /);
    await fill(page, 'cost', '');
    await says(page, 'problem', /^$/);
  });

  await test('names of fields and the unit of times', async () => {
    await fill(page, 'field', 'time=when,ip=client.address');
    await page.locator('#time-unit').selectOption('ms');
    await choose(page, ['lines.json', [0, 1000, 2000].map((when) => `{"when":${when},"client":{"address":"192.0.2.9"}}\n`).join('')]);
    await says(page, 't-read', /^3 events from 1 client .*1970-01-01 00:00:00 to 1970-01-01 00:00:02 UTC$/);
    await fill(page, 'field', 'when');
    await wrong(page, 'field', /as in time=when/);
  });

  await test('the year, and messages of syslog', async () => {
    const line = (second, message) => `Mar  2 12:00:0${second} host sshd[1]: ${message}\n`;
    await choose(page, ['auth.log', [line(0, 'Accepted publickey for ann from 192.0.2.7 port 4711 ssh2'), line(1, 'Received disconnect from 192.0.2.8 port 4711:11: bye'), line(2, 'Accepted publickey for bob from 192.0.2.7 port 4712 ssh2')].join('')]);
    // The log that was chosen last is read again, though it had no events at first.
    await says(page, 'problem', /^auth.log: syslog: 3 lines, no failed login of sshd, Postfix, Dovecot or Exim among them/);
    await fill(page, 'year', '2020');
    await fill(page, 'message', 'Received disconnect');
    await says(page, 't-read', /^1 message among 3 lines, from 1 client .*2020-03-02 12:00:01/);
    await fill(page, 'year', '20200');
    await wrong(page, 'year', /write one from 1 to 9999/);
  });
});

pageTest('a link says how to read', async ({ page, open }) => {
  await tune(page, open, 'path=/api&method=POST&status=4xx&ipv6-prefix=56&for=haproxy&by=sliding-counter');
  for (const [name, value] of [['path', '/api'], ['method', 'POST'], ['status', '4xx'], ['ipv6-prefix', '56']]) {
    assert.equal(await page.locator(`#${name}`).inputValue(), value);
  }
  // The section with the options of the link is open.
  assert(await page.locator('#ipv6-prefix').isVisible());
  await choose(page, ['access.log', mixed]);
  await says(page, 't-read', /^7 requests from 1 client/);
  await counted(page);
  assert.equal(await fragment(page), '#path=/api&method=POST&status=4xx&ipv6-prefix=56&for=haproxy&by=sliding-counter');
});
