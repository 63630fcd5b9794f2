// The packed package, as a program in Node meets it: its decisions are those that Exim, nginx, HAProxy
// and Envoy were recorded making. `./scripts/test npm` runs it with the package in target/npm.

import assert from 'node:assert/strict';
import { execSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';

const { Limiter, State, Store } = await import(pathToFileURL(`${process.env.PACKAGE}/node.js`));
const recorded = (name) =>
  JSON.parse(readFileSync(new URL(`../tests/vectors/${name}.json`, import.meta.url))).events;

test('decides as Exim did', () => {
  for (const scenario of ['01_steady', '03_burst_then_silence', '06_leaky_vs_strict']) {
    const states = new Map();
    for (const event of recorded(scenario)) {
      const limiter = Limiter.parse(`exim ${event.limit}/${event.period} ${event.mode}`);
      if (!states.has(event.key)) states.set(event.key, limiter.state());
      const now = event.t_unix_us / 1e3;
      const { level, limit } = limiter.check(states.get(event.key), now, event.weight);
      assert.equal(level >= limit, event.over_limit, `${scenario} at ${event.t_seconds}`);
      assert.equal(level.toFixed(1), event.sender_rate_as_printed);
    }
  }
});

for (const [name, text] of [
  ['nginx_burst', 'nginx 4/1s burst 6 nodelay'],
  ['haproxy_rate', 'haproxy 6/3s'],
  ['envoy_bucket', 'envoy 3/1s burst 6'],
]) {
  test(`decides as ${text} did`, () => {
    const store = new Store(`${text} per user`);
    for (const { t_us, key, cost, allowed } of recorded(name)) {
      assert.equal(store.check({ user: key }, t_us / 1e3, cost).allowed, allowed, `${key} at ${t_us}`);
    }
  });
}

test('an event counts in all limits or in none, and the answer names the limit', () => {
  const store = new Store('3/1m per user & 4/1m per ip', 1000);
  const ann = { user: 'ann', ip: '192.0.2.7' };
  const asked = [0, 0, 0, 0].map(() => store.check(ann, 0));
  assert.deepEqual(asked.map(({ allowed }) => allowed), [true, true, true, false]);
  assert.deepEqual(asked[3], {
    allowed: false, wait: 0, level: 4, limit: 3, by: 'fixed-window 3/1m per user',
  });
  assert.equal(store.check({ user: 'bob', ip: '192.0.2.7' }, 0).allowed, true);
  assert.equal(store.peek({ user: 'cas', ip: '192.0.2.7' }, 0).by, 'fixed-window 4/1m per ip');
  assert.equal(store.size, 3);
  assert.equal(store.retryAfter(ann, 15_000), 45_000);
  assert.equal(String(store), 'fixed-window 3/1m per user & fixed-window 4/1m per ip');
  assert.equal(store.check({ user: 7 }, 0).allowed, true);
});

test('the wait that is told is enough, at times as Date.now() gives them', () => {
  const limiter = Limiter.parse('gcra 10/1s burst 20');
  const state = limiter.state();
  const now = Date.UTC(2026, 0, 1, 8);
  for (let i = 0; i < 20; i++) assert.equal(limiter.check(state, now).allowed, true);
  assert.deepEqual(limiter.peek(state, now), { allowed: false, wait: 0, level: 21, limit: 20 });
  assert.equal(limiter.retryAfter(state, now), 100);
  assert.equal(limiter.check(state, now + 99.9).allowed, false);
  assert.equal(limiter.check(state, now + 100).allowed, true);
  assert.equal(limiter.retryAfter(state, now, 21), Infinity);
  assert.equal(Limiter.parse('leaky-bucket 10/1s queue 5').check(state, now).wait, 0);
});

test('numbers are read and written in full, without exponents', () => {
  for (const text of ['exim 0.0000001/1s strict', 'exim 2000000000000000000000/1.5s leaky']) {
    assert.equal(String(Limiter.parse(text)), text);
  }
  // Two texts of 16 digits are equally near to this number.
  assert.equal(String(Limiter.parse('exim 95462.799072265625/1s strict')), 'exim 95462.79907226563/1s strict');
  assert.throws(() => Limiter.parse('exim 1e5/1s strict'), /1e5/);
});

test('what is wrong is said, and the program goes on', () => {
  assert.throws(() => Limiter.parse('gcra 10/1y'), (error) => error instanceof Error && /1y/.test(error.message));
  assert.throws(() => new Store('10/1s per'), Error);
  for (const text of [10, null, undefined, {}, Symbol('10/1s'), ['10/1s']]) {
    assert.throws(() => Limiter.parse(text), /a limiter must be given as a string/);
    assert.throws(() => new Store(text), /a policy must be given as a string/);
  }
  for (const capacity of [-1, 1.5, 2 ** 32, NaN, Infinity]) {
    assert.throws(() => new Store('10/1s', capacity), /the capacity must be a whole number/);
  }
  // JSON of a client can have such a text; and no number of errors uses anything up.
  const store = new Store('10/1s per user');
  for (let i = 0; i < 10_000; i++) {
    assert.throws(() => store.check({ user: { toString: 1, valueOf: 1 } }, 0), TypeError);
    assert.throws(() => store.peek(null, 0), TypeError);
  }
  assert.equal(store.check({ user: 'ann' }, 0).level, 1);
  store.free();
  const limiter = Limiter.parse('10/1s');
  assert.throws(() => limiter.check(limiter.state()), /the time must be a number of milliseconds/);
  // A state of another limiter counts as none.
  assert.equal(limiter.check(Limiter.parse('gcra 1/1h').state(), 0).level, 1);
  assert.equal(limiter.check(limiter.state(), 0, -1).allowed, false);
});

test('what was freed throws, as often as it is used', () => {
  const limiter = Limiter.parse('10/1s');
  const [freed, state, store] = [Limiter.parse('10/1s'), limiter.state(), new Store('10/1s')];
  for (const one of [freed, state, store]) one.free();
  for (let i = 0; i < 20_000; i++) {
    assert.throws(() => limiter.check(state, 0), /^Error: this State was freed, or never made$/);
    assert.throws(() => limiter.peek(new State(), 0), /this State was freed, or never made/);
    assert.throws(() => freed.check(limiter, 0), Error);
    assert.throws(() => freed.state(), /this Limiter was freed/);
    assert.throws(() => String(store), /this Store was freed/);
    assert.throws(() => store.check({}, 0), /this Store was freed/);
    assert.throws(() => store.free(), /this Store was freed/);
  }
  assert.equal(limiter.check(limiter.state(), 0).level, 1);
  assert.equal(new Store('10/1s').check({}, 0).level, 1);
});

test('the middleware of the README answers 429 with the time to wait', async () => {
  const readme = readFileSync(`${process.env.PACKAGE}/README.md`, 'utf8');
  const [, , code] = readme.split('```js\n').map((part) => part.split('```')[0]);
  let limit;
  new Function('Store', 'app', code)(Store, { use: (middleware) => (limit = middleware) });
  const server = createServer((req, res) => {
    req.ip = req.headers['x-ip'];
    limit(req, res, () => res.end('ok'));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const ask = (ip) => fetch(`http://127.0.0.1:${server.address().port}`, { headers: { 'x-ip': ip } });
  for (let i = 0; i < 20; i++) assert.equal((await ask('192.0.2.1')).status, 200);
  const refused = await ask('192.0.2.1');
  assert.equal(refused.status, 429);
  assert.match(refused.headers.get('retry-after'), /^[1-9]$/);
  assert.equal((await ask('192.0.2.2')).status, 200);
  server.close();
});

test('the packed package has its licences, and all files that it lists', () => {
  const [{ files }] = JSON.parse(execSync('npm pack --dry-run --json', { cwd: process.env.PACKAGE, stdio: 'pipe' }));
  const packed = files.map(({ path }) => path);
  for (const file of ['LICENSE-MIT', 'LICENSE-APACHE', 'README.md', 'limiters_bg.wasm', 'node.js', 'browser.js', 'freed.js']) {
    assert.ok(packed.includes(file), `${file} is not among ${packed}`);
  }
});

test('the module is at most 141 kB, gzipped', () => {
  const { length } = gzipSync(readFileSync(`${process.env.PACKAGE}/limiters_bg.wasm`));
  assert.ok(length <= 141_000, `${length} bytes`);
});
