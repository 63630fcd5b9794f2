// Live: a service that limits, seen through its own page.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { assertClean } from './clean.mjs';
import { pageTest } from './harness.mjs';
import { simulate, startReplay, startService } from './launch.mjs';
import { denyStores, hide, noteTexts, settle, started, stopClock, until, written } from './scope.mjs';
import { counted } from './tune.mjs';

const RULES = `
domain: web
descriptors:
- {key: user, limit: gcra 5/1h}
- {key: ip, shadow: true, limit: gcra 2/1h}
`;

// Not all of it is ASCII, nor in the 256 characters that a header can have.
const TOKEN = 'schlüssel…0123456789';

// Problems to expect: the service has another origin than the other tests, and a process that is gone does
// not answer.
const allow = [/^request to another origin: http:\/\/127/, /ERR_|Failed to load resource/];

// Writes files with these texts for the time of the body, which is given their paths.
async function withFiles(texts, body) {
  const folder = mkdtempSync(join(tmpdir(), 'ratescope-live-'));
  const paths = Object.keys(texts).map((name) => join(folder, name));
  Object.values(texts).forEach((text, i) => writeFileSync(paths[i], text));
  try {
    await body(...paths);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const withService = (body, text = RULES, args = () => []) =>
  withFiles({ 'rules.yaml': text, token: `${TOKEN}\n` }, async (rules, token) => {
    let service = await startService(rules, ...args(token));
    const again = async () => { service = await startService(rules); return service; };
    try {
      await body(service, again);
    } finally {
      await service.close();
    }
  });

const isLive = (page) => until(page, () => document.querySelector('#state').textContent === 'Live');

// Opens the page of a service, and waits until it is live.
async function live(page, { admin }) {
  await page.goto(`http://${admin}/live.html`);
  await isLive(page);
}

const ask = async ({ http }, field, times) => {
  for (let i = 0; i < times; i++) await (await fetch(`${http}/check?domain=web&${field}`)).text();
};

// The counts of a rule from /metrics, as the page has them: allowed, refused, and allowed by a shadow rule.
async function metrics({ admin }, rule) {
  const text = await (await fetch(`http://${admin}/metrics`)).text();
  const counts = ['allowed', 'refused', 'shadow_refused'].map((outcome) => {
    const parts = ['ratescope_decisions_total{', `rule="${rule}"`, `outcome="${outcome}"`];
    const line = text.split('\n').find((line) => parts.every((part) => line.includes(part)));
    return Number(line?.split(' ').at(-1) ?? 0);
  });
  return counts.join(' ');
}

// Waits until a table has these keys, each with its count and the error of that: it is told about once a second, so it
// may be behind the sums.
const untilKeys = (page, id, keys) => until(page, ([id, keys]) => {
  const rows = [...document.querySelectorAll(`#${id} tr`)];
  return rows.map((row) => `${row.cells[0].textContent} ${row.dataset.count}`).sort().join() === keys;
}, [id, keys.sort().join()]);

const sums = (page) => page.$$eval('#t-rules tr', (rows) => rows.map((row) => row.dataset.sums));

// A browser has six connections to a host.
pageTest('a tab that is hidden leaves its connection to others, and goes on when it is seen', { allow }, async ({ page, context }) => {
  await withService(async (service) => {
    const tabs = [page];
    while (tabs.length < 7) tabs.push(await context.newPage());
    for (const tab of tabs.slice(0, 6)) {
      await live(tab, service);
      await hide(tab, true);
    }
    await live(tabs[6], service);
    await ask(service, 'user=bob', 2);
    await until(tabs[6], () => document.querySelector('#t-rules tr')?.dataset.sums === '2 0 0');
    await hide(page, false);
    await until(page, () => document.querySelector('#t-rules tr')?.dataset.sums === '2 0 0');
  });
});

pageTest('figures are those of the counters, and a key is replayed', { allow }, async ({ page }) => {
  await withService(async (service) => {
    await ask(service, 'user=bob', 2);
    await page.goto(`http://${service.admin}/live.html`);
    // The sums count events from before somebody looked, too.
    await until(page, () => document.querySelector('#t-rules tr')?.dataset.sums === '2 0 0');
    await ask(service, 'user=ann', 1);
    const ann = page.locator('#t-busiest button', { hasText: 'user=ann' });
    await ann.click();
    await until(page, () => document.querySelector('#client-said').dataset.value === '0 0');
    // A message of the service says that it has begun to watch the key.
    await until(page, () => document.querySelector('#client').dataset.watched === 'true');
    await ask(service, 'user=ann', 8);
    await ask(service, 'ip=192.0.2.1', 3);
    await until(page, () => document.querySelector('#client-said').dataset.value === '8 4');
    // The limiter on the page begins with the first event that it saw, and would have allowed five: the service had counted
    // one before, and its verdicts are those that are shown.
    await until(page, () => document.querySelector('#scope-counts').textContent === '4 allowed, 4 refused by the service’s rule');
    await until(page, () => [...document.querySelectorAll('#t-rules tr')].map((row) => row.dataset.sums).join() === '7 4 0,2 0 1');
    assert.deepEqual(await sums(page), [await metrics(service, 'web:user'), await metrics(service, 'web:ip')]);
    await page.mouse.move(0, 0);
    await untilKeys(page, 't-busiest', ['ip=192.0.2.1 3 0', 'user=ann 9 0']);
    await untilKeys(page, 't-refused', ['ip=192.0.2.1 1 0', 'user=ann 4 0']);

    await assertClean(page, 'with a key');

    // The link to Compare has the same events, without the key.
    const href = await page.locator('#client-compare').getAttribute('href');
    assert.match(href, /compare\.html#limit=5\/1h&lanes=gcra/);
    assert.equal(href.includes('ann'), false);
    assert.equal(href.split('do=')[1].split(',').reduce((sum, it) => sum + Number(it.split('*')[1] ?? 1), 0), 8);

    // Tune gets all of the events, as a log.
    await page.locator('#to-tune').click();
    await page.waitForURL(/tune\.html/);
    await counted(page);
    assert.match(await page.locator('#t-clients').textContent(), /user=ann/);
    assert.equal(await page.locator('#t-read').getAttribute('data-value'), '8');
  });
});

// The events of a key as the service tells them: microseconds, cost, and 1 if it was refused.
async function events({ admin }, hash, count) {
  const stop = new AbortController();
  const { body } = await fetch(`http://${admin}/live/events?watch=${hash}`, { signal: stop.signal });
  let told = '';
  const list = () => [...told.matchAll(/^event: events\ndata: (.*)\n\n/gm)].flatMap(([, data]) => JSON.parse(data).events);
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    told += part;
    if (list().length >= count) break;
  }
  stop.abort();
  return list();
}

// Limiters whose level depends on all earlier events, and on the times between them.
const MEASURING = ['exim 3/10s strict', 'exim 3/10s leaky', 'earrrl 3/10s half-life 10s', 'adaptive x3 decay 10s increase 1h floor 3', 'gcra 3/10s burst 2'];

pageTest('a key under the Scope is a replay of its events, bit for bit', { allow }, async ({ page }) => {
  const rules = MEASURING.map((limiter, i) => `- {key: k${i}, limit: ${limiter}}\n`);
  await withService(async (service) => {
    await live(page, service);
    for (const [i, limiter] of MEASURING.entries()) {
      await page.mouse.move(0, 0); // the rows of a table keep their keys while the pointer is over it
      await ask(service, `k${i}=ann`, 1);
      const key = page.locator('#t-busiest button', { hasText: `k${i}=ann` });
      await key.click();
      await until(page, () => document.querySelector('#client').dataset.watched === 'true');
      const hash = await key.evaluate((it) => it.closest('tr').known.hash);
      const seen = [];
      for (let n = 1; n <= 8; n++) {
        await ask(service, `k${i}=ann&hits=${(0.3 + n / 7).toFixed(3)}`, 1);
        const said = await page.waitForFunction((n) => {
          const counts = document.querySelector('#scope-counts').textContent.match(/^(\d+) allowed, (\d+) refused by/);
          const { value } = document.querySelector('#scope-verdict').dataset;
          return counts && Number(counts[1]) + Number(counts[2]) === n && { level: Number(value), allowed: Number(counts[1]) };
        }, n);
        seen.push(await said.jsonValue());
      }
      const told = await events(service, hash, seen.length);
      // In leaky mode only allowed events count, so the rate is that of these events alone without a limit.
      const isLeaky = limiter.endsWith('leaky');
      const isCounted = (i) => !(isLeaky && told[i][2]);
      const log = told.map(([micros, cost]) => `${(micros / 1e6).toFixed(6)},${cost}\n`).filter((_, i) => isCounted(i));
      const replayed = simulate(isLeaky ? 'exim 1000000/10s leaky' : limiter, `time,cost\n${log.join('')}`);
      const levels = seen.map(({ level }) => level).filter((_, i) => isCounted(i));
      assert.deepEqual(levels, replayed.map(({ level }) => level), limiter);
      const allowed = told.map(((sum) => ([, , refused]) => sum += 1 - refused)(0));
      assert.deepEqual(seen.map(({ allowed }) => allowed), allowed, limiter);
      assert(allowed.at(-1) > 0 && allowed.at(-1) < seen.length, `${limiter} lets ${allowed.at(-1)} pass`);
    }
  }, `domain: web\ndescriptors:\n${rules.join('')}`);
});

pageTest('a long key is cut in its row, and whole in its heading', { allow, viewport: { width: 390, height: 844 }, colorScheme: 'dark' }, async ({ page }) => {
  await withService(async (service) => {
    await live(page, service);
    const user = 'a'.repeat(190);
    await ask(service, `user=${user}`, 3);
    const key = page.locator('#t-busiest button', { hasText: user });
    await key.click();
    await until(page, () => document.querySelector('#client').dataset.watched === 'true');
    await ask(service, `user=${user}`, 3);
    await until(page, () => document.querySelector('#client-said').dataset.value.startsWith('3 '));
    assert.equal(await page.textContent('#client-title'), `user=${user}`);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
    // The beginning of the key is seen, also while its button has the focus.
    assert.deepEqual(await key.evaluate((it) => [it.closest('td').scrollLeft, getComputedStyle(it).textOverflow]), [0, 'ellipsis']);
    assert(await key.evaluate((it) => it.getBoundingClientRect().right <= it.closest('td').getBoundingClientRect().right));
    await assertClean(page, 'dark, on a phone');
  });
});

// A port that stays while one process after another is behind it: the port of a process that ended is anybody's.
async function startDoor() {
  let target;
  const door = createServer((client) => pipeline(client, connect(...target), client, () => {}));
  await new Promise((done) => { door.listen(0, '127.0.0.1', done).unref(); });
  return {
    admin: `127.0.0.1:${door.address().port}`,
    to({ admin }) { target = admin.split(':').reverse(); },
    close: () => door.close(),
  };
}

pageTest('a page that lost its process says so, and goes on with the next', { allow }, async ({ page }) => {
  await withService(async (service, again) => {
    const door = await startDoor();
    door.to(service);
    await page.goto(`http://${door.admin}/live.html`);
    await ask(service, 'user=ann', 3);
    await until(page, () => document.querySelector('#t-rules tr')?.dataset.sums === '3 0 0');
    await ask(service, 'user=ann', 1);
    await page.locator('#t-busiest button', { hasText: 'user=ann' }).click();
    await until(page, () => document.querySelector('#client').dataset.watched === 'true');
    await service.close();
    await until(page, () => document.querySelector('#state').textContent.includes('does not answer'));
    const next = await again();
    door.to(next);
    // The sums are those of the new process alone.
    await until(page, () => document.querySelector('#t-rules tr').dataset.sums === '0 0 0' && document.querySelector('#state').textContent === 'Live');
    // The key that was watched is found again, once the new process knows it, and its later events are shown.
    await ask(next, 'user=ann', 1);
    await until(page, () => document.querySelector('#client').dataset.watched === 'true' && document.querySelector('#t-busiest tr.shown'));
    await ask(next, 'user=ann', 7);
    await until(page, () => document.querySelector('#client-said').dataset.value === '7 3');
    door.close();
  });
});

// The log of a day, in which every user sends at a different pace.
const begin = Date.UTC(2026, 2, 2) / 1000;
const day = `time,user\n${Array.from({ length: 4000 }, (_, i) => `${begin + i * 21},${'abcdefghi'[i * 7 % 9 * (i % 2)]}\n`).join('')}`;

// Opens a replay of that day through a limiter at each of some speeds, and closes them after the body.
const withReplays = (speeds, limiter, body) => withFiles({ 'log.csv': day }, async (log) => {
  const replays = await Promise.all(speeds.map((speed) => startReplay(log, '--speed', speed, limiter)));
  try {
    await body(...replays);
  } finally {
    await Promise.all(replays.map(({ close }) => close()));
  }
});

pageTest('a log is replayed: rules and keys as the command decides them', { allow }, async ({ page }) => {
  const limiter = 'gcra 30/1h burst 5 per user';
  const decided = simulate(limiter, day);
  const allowed = decided.filter(({ allowed }) => allowed).length;
  await withReplays(['60', '43200'], limiter, async (slow, quick) => {
    assert.match(slow.url, /#window=1h$/);
    await page.goto(slow.url);
    await until(page, () => document.querySelector('#state').textContent === 'A replay, 60 times as fast');
    await page.goto(quick.url);
    await until(page, () => document.querySelector('#state').textContent === 'The replay has ended');
    await until(page, (sums) => document.querySelector('#t-rules tr').dataset.sums === sums, `${allowed} ${decided.length - allowed} 0`);
    const hits = {};
    for (const { decided_key: key } of decided) hits[key] = (hits[key] ?? 0) + 1;
    await untilKeys(page, 't-busiest', Object.entries(hits).map(([key, count]) => `${key} ${count} 0`));
    assert.match(await page.textContent('#clock'), /^2026-03-02 2[23]:\d\d:\d\d UTC$/);
    await assertClean(page, 'after a replay');
  });
});

// The store need not be there: the rules are known before any event.
pageTest('beside a limit stands how processes share it', { allow }, async ({ page }) => {
  await withService(async (service) => {
    await live(page, service);
    await until(page, () => document.querySelectorAll('#t-rules tr').length === 2);
    const limits = await page.$$eval('#t-rules tr', (rows) => rows.map((row) => [...row.cells].at(-1).textContent));
    assert.deepEqual(limits, ['gcra 5/1h burst 5 per user, leased 100ms', 'gcra 2/1h burst 2 per ip, a shadow']);
  }, RULES, () => ['--store', 'redis://127.0.0.1:1', '--share', 'leased']);
});

// Waits until so many more messages have come.
async function heard(page, count) {
  for (let i = 0; i < count; i++) {
    const clock = await page.textContent('#clock');
    await until(page, (clock) => document.querySelector('#clock').textContent !== clock, clock);
  }
}

pageTest('a look back stays while messages come, and little is said of them', { allow }, async ({ page, test }) => {
  await noteTexts(page);
  // The times that a picture has written below it.
  const times = async (id) => (await written(page, id)).filter((text) => /\d\d:\d\d/.test(text)).join();
  // Looks back on a picture, which then stays.
  const looksBack = async (id) => {
    await page.locator(`#${id}`).focus();
    await page.keyboard.press('PageUp');
    await heard(page, 2);
    await assertStays(id);
  };
  const assertStays = async (id) => {
    await settle(page); // what was pressed before is drawn
    const seen = await times(id);
    await heard(page, 4);
    assert.equal(await times(id), seen, `${id} moves`);
  };
  await withReplays(['600'], 'gcra 30/1h burst 5 per user', async ({ url }) => {
    await page.goto(url);
    await started(page); // before that, the window of the link would come into force later
    // A quarter of the window after the first message one can look back at it.
    await page.locator('#window').selectOption('1h');
    const minutes = () => page.$eval('#clock', (clock) => Date.parse(clock.textContent.replace(' UTC', 'Z').replace(' ', 'T')) / 60_000);
    await heard(page, 1);
    for (const first = await minutes(); await minutes() < first + 20;) await heard(page, 1);

    await test('of the rules, where clicks and keys are no events', async () => {
      await looksBack('graph');
      const { x, y, width, height } = await page.locator('#graph').boundingBox();
      await page.mouse.click(x + width / 2, y + height / 2);
      await page.keyboard.press('p');
      await assertStays('graph');
      assert.equal(await page.textContent('#note'), '');
      await page.keyboard.press('Escape');
      const isTaken = await page.evaluate(() => {
        scrollTo(0, 0);
        return !document.body.dispatchEvent(new KeyboardEvent('keydown', { key: ' ', bubbles: true, cancelable: true }));
      });
      assert.equal(isTaken, false, 'Space scrolls, as anywhere');
    });

    await test('of a key', async () => {
      await page.locator('#t-busiest button').first().click();
      await page.locator('#client-window').selectOption('10m');
      await until(page, () => Number(document.querySelector('#client-said').dataset.value.split(' ')[0]) > 6);
      await looksBack('scope');
      await looksBack('lanes');
    });

    await test('with all of a key in sight, all stays in sight', async () => {
      await page.locator('#client-window').selectOption('all');
      const seen = await times('scope');
      await until(page, ([id, before]) => document.getElementById(id).written.filter((text) => /\d\d:\d\d/.test(text)).join() !== before, ['scope', seen]);
    });

    await test('a screen reader is told rarely', async () => {
      const said = () => page.evaluate(() => [globalThis.said, performance.now() - globalThis.since]);
      await page.evaluate(() => {
        [globalThis.said, globalThis.since] = [0, performance.now()];
        const observer = new MutationObserver((list) => { globalThis.said += list.length; });
        for (const id of ['summary', 'scope-summary', 'lanes-summary']) observer.observe(document.getElementById(id), { childList: true });
      });
      await heard(page, 12);
      const [times, milliseconds] = await said();
      assert(times <= 3 * (1 + milliseconds / 10_000), `${times} times in ${milliseconds} ms`);
    });
  });
});

pageTest('where there is no service there is an example, and no error', async ({ page, open }) => {
  await open('/live.html');
  await until(page, () => document.querySelector('#state').textContent === 'No service here. Trying again …');
  await page.waitForFunction(() => document.querySelector('#example .light').complete);
  assert(await page.locator('#example .light').isVisible());
  for (const id of ['graph', 'answers']) assert(await page.locator(`#${id}`).isHidden(), id);
  await assertClean(page, 'without a service');
});

pageTest('where there is no service it is rarely asked for, and without an error', async ({ page, open }) => {
  const asked = [];
  page.on('request', (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
  await stopClock(page);
  await open('/live.html');
  await until(page, () => document.querySelector('#state').textContent.includes('No service here'));
  for (let second = 0; second < 60; second++) {
    await page.clock.runFor(1000);
    await settle(page);
  }
  const times = asked.filter((it) => it === 'HEAD /live.html').length;
  assert(times > 1 && times < 10, `${times} times in a minute`);
  assert.deepEqual(asked.filter((it) => it.includes('/live/')), []);
});

pageTest('a message without an end is not waited for', async ({ page, open }) => {
  await page.route('**/live.html', (route) => (route.request().method() === 'HEAD' ? route.fulfill({ headers: { 'ratescope-live': '1' } }) : route.continue()));
  await page.route('**/live/events', (route) => route.fulfill({ contentType: 'text/event-stream', body: `data: ${'x'.repeat(5e6)}` }));
  await open('/live.html');
  await until(page, () => document.querySelector('#state').textContent === 'The service does not answer: a message has no end. Trying again …');
});

pageTest('a browser that keeps nothing has Live, too', { allow }, async ({ page }) => {
  await denyStores(page);
  await withService(async (service) => {
    await live(page, service);
    await ask(service, 'user=ann', 1);
    await page.locator('#t-busiest button').click();
    await page.locator('#to-tune').click();
    await until(page, () => document.querySelector('#note').textContent !== '');
    assert.match(await page.textContent('#note'), /^This browser keeps nothing for another page/);
    assert(await page.locator('#failed').isHidden());
  });
});

pageTest('keys may be hidden, and a token asked for', { allow: [...allow, /401/] }, async ({ page }) => {
  await withService(async (service) => {
    await page.goto(`http://${service.admin}/live.html`);
    for (const wrong of ['wrong', 'пароль']) {
      await page.locator('#token').fill(wrong);
      await page.locator('#give').click();
      await until(page, () => !document.querySelector('#ask').hidden && document.querySelector('#token-error').textContent !== '');
    }
    await page.locator('#token').fill(TOKEN);
    await page.locator('#give').click();
    await isLive(page);
    await ask(service, 'user=ann', 1);
    await until(page, () => /^#[0-9a-f]{8}$/.test(document.querySelector('#t-busiest button')?.textContent));
    assert.equal((await page.content()).includes('user=ann'), false);
  }, RULES, (token) => ['--admin-token-file', token, '--hide-keys']);
});
