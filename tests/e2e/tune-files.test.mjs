// Files of all kinds: how they are read, what the page says is wrong with them, and that it stays usable.

import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pageTest } from './harness.mjs';
import { choose, counted, gzip, log, row, sampled, says, text, tune } from './tune.mjs';

const two = log({ '192.0.2.1': 30, '192.0.2.2': 3 });
// More than is read at once.
const long = log({ '192.0.2.9': 50_000 });

pageTest('logs are read', async ({ page, open, test }) => {
  await tune(page, open);

  await test('a file, packed or not', async () => {
    for (const [name, content] of [['access.log', two], ['access.log.gz', gzip(two)]]) {
      await choose(page, [name, content]);
      await says(page, 't-read', /^33 requests from 2 clients/);
      await counted(page);
      assert.equal(await text(page, 't-format'), 'Common Log Format');
      assert.match(await text(page, 't-doubts'), /one client alone sets the limit/);
      assert.equal((await row(page, '192.0.2.1'))[0], '30');
      await choose(page, ['other.log', log({ '192.0.2.9': 1 })]);
      await says(page, 't-read', /^1 request from 1 client /);
    }
    assert(long.length > 2 << 20);
    await choose(page, ['long.log', long]);
    await says(page, 't-read', /^50,000 requests from 1 client /);
  });

  await test('several files are one log', async () => {
    const [a, b] = [log({ '192.0.2.1': 10 }), log({ '192.0.2.1': 5, '192.0.2.3': 2 })];
    await choose(page, ['a.log', a], ['b.log.gz', gzip(b)]);
    await says(page, 't-read', /^17 requests from 2 clients/);
  });

  await test('what was packed in parts, as bgzip does, is read to its end', async () => {
    const lines = two.split(/(?<=\n)/);
    const parts = Array.from({ length: 11 }, (_, i) => gzip(lines.slice(3 * i, 3 * i + 3).join('')));
    await choose(page, ['parts.log.gz', Buffer.concat([...parts, gzip('')])]);
    await says(page, 't-read', /^33 requests from 2 clients/);
    assert.equal(await text(page, 'problem'), '');
    await choose(page, ['small.log', log({ '192.0.2.9': 1 })]);
    await says(page, 't-read', /^1 request from /);
    // A part that is stored without compression may contain bytes that look like the beginning of another
    // part.
    const odd = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
    const stored = gzip(Buffer.concat([Buffer.from(two), odd, Buffer.from(`\n${two}`)]), { level: 0 });
    await choose(page, ['odd.log.gz', Buffer.concat([stored, gzip(two)])]);
    await says(page, 't-read', /^99 requests from 2 clients/);
    assert.match(await text(page, 't-unread'), /^1 of 100 lines could not be read/);
    assert.equal(await text(page, 'problem'), '');
  });

  await test('times are told by the clock of the log', async () => {
    await choose(page, ['access.log', two.replaceAll('+0000', '+0200')]);
    await says(page, 't-read', /2026-03-02 12:00:00 to 2026-03-02 12:00:29 UTC\+02:00$/);
    await counted(page);
    assert.equal(await text(page, 't-peak-zone'), 'UTC+02:00');
    assert.match((await row(page, '192.0.2.1'))[2], /^2026-03-02 12:00/);
    await choose(page, ['access.log', two.replaceAll(' +0000', '')]);
    await says(page, 't-read', /12:00:29 local time$/);
  });

  await test('pasted lines', async () => {
    await page.locator('#paste').click();
    await page.locator('#lines').fill('time,key\n1,ann\n2,bob\n3,ann\n');
    await page.locator('#read-lines').click();
    await says(page, 't-read', /^3 events from 2 clients \(per key\)/);
  });

  await test('a dropped file', async () => {
    await page.evaluate((content) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([content], 'dropped.log'));
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
    }, two);
    await says(page, 't-read', /^33 requests from 2 clients/);
  });

  await test('it is read again by another key, and as it is written', async () => {
    await choose(page, ['access.log', two]);
    await says(page, 't-read', /^33 requests from 2 clients/);
    await page.locator('#key').fill('path');
    await says(page, 't-read', /^33 requests from 30 clients \(per path\)/);
    await page.locator('#key').fill('colour');
    await says(page, 'problem', /"colour": not a field of this log; it has ip, .*\nThe previous log is still shown/);
    await page.locator('#key').fill('auto');
    await says(page, 't-read', /\(per ip\)/);
    assert.match(await text(page, 't-notes'), /3 events are spread evenly/);
    await page.locator('#spread').selectOption('never');
    await page.waitForFunction(() => document.querySelector('#t-notes').textContent === '');
    await page.locator('#spread').selectOption('coarse');
    await page.locator('#log').selectOption('exim');
    await says(page, 'problem', /the format of the log is unknown/);
    await page.locator('#log').selectOption('auto');
    await says(page, 'problem', /^$/);
  });

  await test('lines that can not be read are counted, and the first are shown', async () => {
    const lines = two.split('\n');
    lines.splice(2, 0, 'nonsense', '<b>more</b> of it');
    await choose(page, ['some.log', lines.join('\n')]);
    const said = await says(page, 't-unread', /./);
    assert.match(said, /^2 of 35 lines could not be read:\nline 3: .*\nline 4: /);
    assert.equal(await page.locator('#t-unread b').count(), 0);
  });
});

pageTest('a log is read in an engine whose files are no streams of bytes', async ({ page, open }) => {
  const plain = 'const { stream } = Blob.prototype; Blob.prototype.stream = function () { return stream.call(this).pipeThrough(new TransformStream()); };\n';
  await page.route('**/tune-worker.js', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: plain + await response.text() });
  });
  await tune(page, open);
  for (const [name, content] of [['access.log', two], ['access.log.gz', gzip(two)]]) {
    await choose(page, [name, content]);
    await says(page, 't-read', /^33 requests from 2 clients/);
    await choose(page, ['other.log', log({ '192.0.2.9': 1 })]);
    await says(page, 't-read', /^1 request from 1 client /);
  }
  await choose(page, ['long.log', long]);
  await says(page, 't-read', /^50,000 requests from 1 client /);
});

pageTest('the server is supposed from the log until one is chosen', async ({ page, open }) => {
  const mail = Array.from({ length: 30 }, (_, i) => `2026-03-02 12:${10 + i}:00 1wBQ${10 + i}-0000000Cc0R-0L <= ann@example.org H=[192.0.2.${i % 9}] P=esmtp S=999\n`).join('');
  const login = Array.from({ length: 30 }, (_, i) => `2026-03-02T12:${10 + i}:00+00:00 host sshd[7]: Failed password for root from 192.0.2.${i % 9} port 1234 ssh2\n`).join('');
  await tune(page, open);
  for (const [content, server] of [[mail, 'Exim'], [login, 'fail2ban'], [two, 'nginx'], [mail, 'Exim']]) {
    await choose(page, ['a.log', content]);
    await says(page, 't-sentence', new RegExp(`^For ${server}: `));
  }
  await page.locator('#for').selectOption('haproxy');
  await choose(page, ['a.log', login]);
  await says(page, 't-read', /failed logins/);
  await says(page, 't-sentence', /^For HAProxy: /);
});

pageTest('what is no log says so, and what was shown stays', async ({ page, open, test }) => {
  await sampled(page, open);
  const before = await text(page, 't-sentence');
  const whole = gzip(two.repeat(200));
  for (const [name, content, pattern] of [
    ['empty.log', '', /^empty.log: the input is empty/],
    ['blank.log', '\n\n \n', /^blank.log: the input is empty/],
    ['story.txt', 'Once upon a time\nthere was a log.\n', /^story.txt: the format of the log is unknown; its first line is\n {2}Once upon a time/],
    ['photo.jpg', Uint8Array.from({ length: 5000 }, (_, i) => (i * 7919) % 251), /^photo.jpg: the input is no log but binary/],
    ['log.zst', Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3]), /^log.zst: the input is no log: it is packed with zstd/],
    ['log.gz', Uint8Array.from([0x1f, 0x8b, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), /^log.gz: after 0 lines: what is packed is damaged or ends early/],
    ['header.csv', 'time,key\n', /^header.csv: there are no events\n/],
  ]) {
    await test(name, async () => {
      await choose(page, [name, content]);
      assert.match(await says(page, 'problem', new RegExp(`^${name}`)), pattern);
      assert.match(await text(page, 'problem'), /The previous log is still shown\.$/);
      assert.equal(await text(page, 't-sentence'), before);
      assert(await page.locator('#progress').isHidden());
    });
  }

  await test('of a packed log that ends early, what there is is read', async () => {
    await choose(page, ['cut.log.gz', whole.subarray(0, whole.length - 9)]);
    const problem = await says(page, 'problem', /./);
    assert.match(problem, /^cut.log.gz: after [1-9]\d* lines: what is packed is damaged or ends early/);
    await says(page, 't-read', /requests from 2 clients/);
  });

  await test('a folder, and a file that has gone, are named', async () => {
    const devtools = await page.context().newCDPSession(page);
    for (const file of ['.', 'gone.log']) {
      const data = { items: [], files: [join(tmpdir(), file)], dragOperationsMask: 1 };
      for (const type of ['dragEnter', 'dragOver', 'drop']) await devtools.send('Input.dispatchDragEvent', { type, x: 9, y: 9, data });
      const name = basename(join(tmpdir(), file));
      await says(page, 'problem', new RegExp(`^${name}: after 0 lines: it can't be read: it may be a folder, have changed, or be gone`));
    }
  });

  await test('a wrong file among others is named, and the others are read', async () => {
    await choose(page, ['good.log', two], ['bad.txt', 'no log\n']);
    assert.match(await says(page, 'problem', /./), /^bad.txt: the format of the log is unknown/);
    await says(page, 't-read', /^33 requests from 2 clients/);
  });
});

pageTest('reading a big log can be cancelled, and the page goes on meanwhile', async ({ page, open }) => {
  await sampled(page, open);
  const before = await text(page, 't-read');
  // A very long log is made in the page: many copies of a piece, of which the memory holds only one.
  await page.evaluate((part) => {
    const piece = new Blob([part.repeat(2000)]);
    const blob = new Blob(Array.from({ length: 400 }, () => piece));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([blob], 'big.log'));
    globalThis.frames = 0;
    const frame = () => { globalThis.frames++; requestAnimationFrame(frame); };
    requestAnimationFrame(frame);
    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
  }, two);
  const said = await says(page, 'how-far', /MB\/s, \d+ s left/);
  assert.match(said, /^big.log: [\d.]+ [MG]B of [\d.]+ [MG]B, [\d,]+ lines, \d+ MB\/s, \d+ s left$/);
  const bar = await page.$eval('#bar', (bar) => bar.value);
  assert(bar > 0 && bar < 1, String(bar));
  const frames = await page.evaluate(() => globalThis.frames);
  await page.waitForFunction((frames) => globalThis.frames > frames + 5, frames);
  await page.locator('#cancel').click();
  await says(page, 'problem', /^Cancelled\. The previous log is still shown\.$/);
  assert(await page.locator('#progress').isHidden());
  assert.equal(await text(page, 't-read'), before);
  // Another log is read as before.
  await choose(page, ['small.log', two]);
  await says(page, 't-read', /^33 requests/);
});

pageTest('columns that were tried in vain are not tried on the next log', async ({ page, open }) => {
  await tune(page, open);
  await choose(page, ['odd.txt', 'no log;at all\n'.repeat(9)]);
  await says(page, 'problem', /the format of the log is unknown/);
  await page.fill('#notation', '$ip;$time');
  await page.click('#read-so');
  await says(page, 'problem', /no time, but at all/);
  await choose(page, ['small.log', log({ '192.0.2.1': 33 })]);
  await says(page, 't-read', /^33 requests/);
  assert.deepEqual([await page.inputValue('#log-format'), await text(page, 'problem')], ['auto', '']);
  // Its columns are known, so none are proposed where it is not read for another reason.
  await page.fill('#key', 'nosuch');
  await says(page, 'problem', /not a field of this log/);
  assert(await page.locator('#proposed').isHidden());
});

pageTest('a log that is not recognized is read by the columns that one says', async ({ page, open }) => {
  await tune(page, open);
  const line = (i) => `02/Mar/2026:12:00:${String(i).padStart(2, '0')} +0000;192.0.2.${1 + (i % 2)};${['user0', 'user1', '\u{202e}2resu'][i % 3]};ok\n`;
  await choose(page, ['odd.log', Array.from({ length: 30 }, (_, i) => line(i)).join('')]);
  await says(page, 'problem', /the format of the log is unknown/);
  assert.equal(await page.inputValue('#notation'), '$time;$ip;$c3;$c4');
  const shown = await page.$$eval('#columns > *', (all) => all.map((it) => it.textContent));
  assert.deepEqual(shown, ['$time', '02/Mar/2026:12:00:00 +0000', '$ip', '192.0.2.1', '$c3', 'user0', '$c4', 'ok']);
  // A text that is no notation is told, and nothing is read.
  await page.fill('#notation', 'no column at all');
  await page.click('#read-so');
  await says(page, 'problem', /column/);
  await page.fill('#notation', '$time;$ip;$user;$c4');
  await page.click('#read-so');
  await says(page, 't-read', /^30 (events|requests) from 2 clients/);
  assert.equal(await page.locator('#proposed').isVisible(), false);
  await page.locator('#key').fill('user');
  await says(page, 't-read', /from 3 clients/);
  // A name that would be read backwards has a dot in front, and is found by itself.
  await page.locator('#t-clients button', { hasText: /^·2resu$/ }).click();
  await says(page, 'client-title', /^·2resu$/);
  await says(page, 'scope-counts', /^7 allowed, 3 refused/);
});
