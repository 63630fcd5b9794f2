// The page in other engines, in real time: what people do first in each view. Run by
// `./scripts/test engines`; an engine that is not installed is passed over, and said so.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { By, Key } from 'selenium-webdriver';
import { simulate, startReplay, startServer } from '../e2e/launch.mjs';
import { browse, ENGINES, missing } from './driver.mjs';

// Nobody waits that long for a page; a busy machine may.
const LONG = 120_000;

for (const engine of ENGINES) {
  const absent = missing(engine);
  describe(engine.name, { skip: absent && `${absent} is not installed` }, () => {
    let server, driver, close;
    before(async () => {
      server = await startServer();
      ({ driver, close } = await browse(engine));
    });
    after(async () => {
      await close?.();
      await server?.close();
    });

    const see = (script, ...args) => driver.executeScript(script, ...args);
    const until = (holds, ...args) => driver.wait(() => see(holds, ...args), LONG, String(holds));
    const value = (id) => see((id) => Number(document.getElementById(id).dataset.value), id);
    const find = (selector) => driver.findElement(By.css(selector));
    const text = async (selector) => (await find(selector)).getText();
    async function open(path) {
      await driver.get('about:blank'); // or a new fragment would be no new page
      await driver.get(server.origin + path);
      await until(() => document.documentElement.dataset.started !== undefined || document.querySelector('#failed:not([hidden])'));
      assert.equal(await see(() => document.querySelector('#failed').hidden), true);
    }
    const pressed = (...keys) => find('#graph').then((graph) => graph.sendKeys(...keys));

    test('the Scope: click, keys, crosshair, automatic events', async () => {
      await open('/#auto=off&limit=3&paused');
      await (await find('#graph')).click();
      await until(() => document.querySelector('#allowed').dataset.value === '1');
      await pressed(Key.SPACE, Key.SPACE, Key.SPACE);
      await until(() => document.querySelector('#refused').dataset.value === '1');
      assert.deepEqual([await value('allowed'), await value('refused')], [3, 1]);
      assert(Math.abs(await value('rate') - 4) < 1e-6, 'time stands still, and the rate with it');
      await pressed(Key.ARROW_LEFT);
      await until(() => /rate [\d.]+ per 10\u202fs,.*smoothed/.test(document.querySelector('#summary').textContent));
      await pressed(Key.ESCAPE);

      await open('/#rate=20/1s');
      await until(() => Number(document.querySelector('#allowed').dataset.value) > 0);
      assert(await driver.executeScript(inked), 'a line is drawn');
    });

    test('Compare: a scenario has the numbers that it has everywhere', async () => {
      await open('/compare.html#auto=off');
      // The events that passed, of those that were sent.
      for (const [name, expected] of [
        ['The relentless abuser', { earrrl: [17, 299], 'exim strict': [11, 299] }],
        ['One a minute, as servers count it', { nginx: [6, 11], 'haproxy allowed': [4, 11], 'envoy burst 1': [11, 11] }],
      ]) {
        await see((name) => [...document.querySelectorAll('#scenarios a')].find((a) => a.textContent === name).click(), name);
        await until((name) => document.querySelector('.told strong')?.textContent === name, name);
        await see(() => document.querySelector('#story-end').click());
        const counts = () => Object.fromEntries([...document.querySelectorAll('.lane input')].map((box, i) => [
          box.value, ['allowed', 'judged'].map((id) => Number(document.getElementById(`${id}-${i + 1}`).dataset.value)),
        ]));
        // They are on the screen with the next frame, and until then those of the scenario before.
        const [sent] = Object.values(expected).map(([, judged]) => judged);
        await until((sent) => Number(document.querySelector('#sent').dataset.value) === sent, sent);
        const found = await see(counts);
        for (const [rule, counts] of Object.entries(expected)) assert.deepEqual(found[rule], counts, rule);
      }
    });

    test('Tune: logs are read as files, packed too, and dropped', async () => {
      await inFolder(async (folder) => {
        const lines = requests(3000, 50);
        writeFileSync(join(folder, 'a.log'), lines);
        writeFileSync(join(folder, 'b.log.gz'), gzipSync(lines.replaceAll('192.0.2', '198.51.100')));
        const read = () => document.querySelector('#t-sentence').dataset.value === '1' && document.querySelector('#progress').hidden;
        await open('/tune.html');
        await (await find('#files')).sendKeys([join(folder, 'a.log'), join(folder, 'b.log.gz')].join('\n'));
        await until(read);
        assert.match(await text('#t-read'), /6.000 requests from 100 clients/);
        await open('/tune.html');
        await see((lines) => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([lines], 'dropped.log'));
          document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
        }, lines);
        await until(read);
        assert.match(await text('#t-read'), /3.000 requests from 50 clients/);
      });
    });

    test('Live: a replay to its end, as the command decides it', async () => {
      await inFolder(async (folder) => {
        const log = join(folder, 'a.log');
        writeFileSync(log, requests(3000, 50));
        const limiter = 'gcra 30/1h burst 5 per ip';
        const decided = simulate(limiter, requests(3000, 50));
        const allowed = decided.filter(({ allowed }) => allowed).length;
        const replay = await startReplay(log, '--speed', '3000', limiter);
        try {
          await driver.get(replay.url);
          await until(() => document.querySelector('#state').textContent === 'The replay has ended');
          await until((sums) => document.querySelector('#t-rules tr').dataset.sums === sums, `${allowed} ${decided.length - allowed} 0`);
          assert(await driver.executeScript(inked), 'its lines are drawn');
        } finally {
          await replay.close();
        }
      });
    });

    test('the theme is kept, and a phone has no sideways scroll', async () => {
      for (const path of ['/', '/compare.html', '/tune.html']) {
        await driver.manage().window().setRect({ width: 500, height: 800 });
        await open(path);
        const before = await see(() => document.querySelector('#theme').getAttribute('aria-pressed'));
        await see(() => document.querySelector('#theme').click());
        await open(path);
        const kept = await see(() => document.querySelector('#theme').getAttribute('aria-pressed'));
        assert.notEqual(kept, before, `${path}: the theme`);
        await see(() => document.querySelector('#theme').click());
        assert.equal(await see(() => document.documentElement.scrollWidth <= innerWidth), true, `${path}: its width`);
      }
    });
  });
}

// A log of requests by some clients in turn, one a second.
function requests(count, clients) {
  const two = (n) => String(n).padStart(2, '0');
  const line = (_, i) => `192.0.2.${i % clients} - - [02/Mar/2026:12:${two(i / 60 | 0)}:${two(i % 60)} +0000] "GET / HTTP/1.1" 200 1\n`;
  return Array.from({ length: count }, line).join('');
}

async function inFolder(body) {
  const folder = mkdtempSync(join(tmpdir(), 'ratescope-engines-'));
  try {
    await body(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

// Whether the canvas has more than its background, read where the picture is.
function inked() {
  const canvas = document.querySelector('#graph');
  const copy = document.createElement('canvas');
  [copy.width, copy.height] = [canvas.width, canvas.height];
  const context = copy.getContext('2d');
  context.drawImage(canvas, 0, 0);
  const { data } = context.getImageData(0, 0, copy.width, copy.height);
  return new Set(new Uint32Array(data.buffer)).size > 10;
}
