// The edges of the page: before it is loaded, when it can't be, and what browsers ask of it.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { pageTest } from './harness.mjs';
import { compare, quiet, tall } from './compare.mjs';
import { drag } from './pointer.mjs';
import { clipboard, crisp, events, limitLine, loaded, picture, plot, prefer, settle, show, type, until } from './scope.mjs';
import { sampled } from './tune.mjs';

const values = (page) => page.$$eval('input[name], select[name], [data-does]', (all) => all.map((it) =>
  (it.type === 'checkbox' ? it.checked : it.value || it.textContent)));

for (const path of ['/', '/compare.html']) {
  pageTest(`${path} shows what it will say before the module is there`, tall, async ({ page, open, context }) => {
    await open(path);
    await loaded(page);
    const other = await context.newPage();
    let arrive;
    const waits = new Promise((done) => { arrive = done; });
    await other.route('**/*_bg.wasm', async (route) => { await waits; await route.continue().catch(() => {}); });
    await other.goto(page.url(), { waitUntil: 'commit' });
    await other.waitForSelector('form [name=window]');
    assert.equal(await other.textContent('#note'), 'Loading…');
    const early = await values(other);
    const late = await page.$$eval('input[name], select[name], [data-does]', (all) => all
      .filter((it) => !it.name?.startsWith('lane-')).map((it) => (it.type === 'checkbox' ? it.checked : it.value || it.textContent)));
    // The HTML has the slider's place rounded: it is a logarithm.
    const alike = (a, b) => a === b || Math.abs(a - b) < 0.01;
    assert.equal(early.length, late.length);
    const told = (it) => it.evaluate(() => document.querySelector('.told')?.textContent);
    assert.equal(await told(other), await told(page));
    early.forEach((value, i) => assert(alike(value, late[i]), `${value}, not ${late[i]}`));
    const height = await other.$eval('#graph', (graph) => graph.offsetHeight);
    arrive();
    await loaded(other);
    assert.equal(await other.$eval('#graph', (graph) => graph.offsetHeight), height, 'nothing is shifted');
  });
}

// Passes on the answers of the server at `origin`, but pauses within each page, at a part of its length that can be
// set.
async function slowly(origin) {
  const server = createServer(async (request, response) => {
    const answer = await fetch(origin + request.url);
    const body = Buffer.from(await answer.arrayBuffer());
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') });
    if (answer.headers.get('content-type').startsWith('text/html')) {
      response.write(body.subarray(0, Math.floor(body.length * server.part)));
      await setTimeout(300);
      response.end(body.subarray(Math.floor(body.length * server.part)));
    } else response.end(body);
  });
  await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
  return server;
}

for (const viewport of [{ width: 390, height: 844 }, { width: 844, height: 390 }]) {
  pageTest(`nothing shifts while it loads, however slowly, at ${viewport.width}`, { viewport, allow: [/another origin/] }, async ({ page, origin }) => {
    await page.addInitScript(() => {
      globalThis.shift = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.shift += entry.value;
      }).observe({ type: 'layout-shift', buffered: true });
    });
    const server = await slowly(origin);
    try {
      for (const path of ['/', '/compare.html']) {
        for (server.part of [0.2, 0.4, 0.6]) {
          await page.goto(`http://127.0.0.1:${server.address().port}${path}`);
          await loaded(page);
          await settle(page);
          const shift = await page.evaluate(() => globalThis.shift);
          assert(shift < 0.02, `${path}, with a pause after ${server.part} of it: ${shift}`);
        }
      }
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
}

pageTest('the skip link goes to the settings', async ({ page, open }) => {
  for (const path of ['/', '/compare.html']) {
    await open(path);
    await loaded(page);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'limit');
  }
});

pageTest('the limit can be dragged back from the bottom', crisp, async ({ page, open }) => {
  await show(page, open, 'auto=off&at=5&paused');
  const box = await page.locator('#graph').boundingBox();
  const { left, right, bottom } = await plot(page);
  const x = box.x + 1 + (left + right) / 2;
  await drag(page, [x, box.y + 1 + await limitLine(page)], [x, box.y + bottom + 40]);
  const low = Number(await page.inputValue('#limit'));
  assert(low > 0 && low < 0.5, `${low}`);
});

pageTest('long text is not echoed whole', tall, async ({ page, open }) => {
  await compare(page, open, quiet);
  const long = 'x'.repeat(100_000);
  for (const id of ['limit', 'cost', 'seed', 'script']) {
    await type(page, id, long);
    const said = await page.textContent(`#${id}-error`);
    assert(said.length > 10 && said.length < 400, `${id}: ${said.length}`);
  }
  await page.evaluate((long) => { location.hash = `lanes=${long}`; }, long);
  await until(page, () => document.querySelector('#note').textContent.includes('xxx…'));
  assert((await page.textContent('#note')).length < 400);
});

pageTest('of a link with an error the rest is shown', tall, async ({ page, open }) => {
  await compare(page, open, 'auto=off&limit=7/10s&lanes=gcra;3/1s%20%26%20gcra&evnts=5&at=5&paused');
  const note = await page.textContent('#note');
  assert.match(note, /^This link has an error, the rest is shown: "evnts"/);
  assert(await page.$eval('#note', (it) => it.classList.contains('wrong')));
  assert.equal(await page.inputValue('#limit'), '7/10s');
  assert.equal(await page.locator('.lane').count(), 2);
  assert.equal(await page.textContent('#pause'), 'Run');
});

pageTest('a key that is held is one event', async ({ page, open }) => {
  await show(page, open, 'auto=off&at=5&paused');
  await page.locator('#graph').focus();
  for (let i = 0; i < 5; i++) await page.keyboard.down('Space');
  await page.keyboard.up('Space');
  await settle(page);
  assert.equal(await events(page), 1);
});

pageTest('what is said as Exim says it is read, shown and copied', clipboard, async ({ page, open }) => {
  await show(page, open, 'auto=off&at=5&paused');
  for (const [id, text, value] of [
    ['decay', '5 min', '5m'], ['decay', '1 hour', '1h'], ['increase', '10 s', '10s'], ['limit', '10k', '10000'],
    ['limit', '1e2', '100'], ['auto-rate', '0.001', '0.001'],
  ]) {
    await type(page, id, text);
    await page.locator(`#${id}`).blur();
    assert.equal(await page.inputValue(`#${id}`), value, text);
  }
  await page.locator('#mode').selectOption('leaky');
  await settle(page);
  assert.equal(await page.textContent('#exim'), 'ratelimit = 100 / 1h / leaky');
  await page.locator('[data-copies=exim]').click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'ratelimit = 100 / 1h / leaky');
});

pageTest('a hundred an hour at one mail a minute', tall, async ({ page, open }) => {
  await show(page, open, 'decay=1h&limit=100&pattern=steady&auto-rate=0.0167&window=1d&speed=1000&at=20000');
  const before = await events(page);
  await until(page, (n) => {
    const value = (id) => Number(document.getElementById(id).dataset.value);
    return value('allowed') + value('refused') > n + 20;
  }, before);
  assert.equal(await page.textContent('#note'), '');
});

pageTest('settings go along to the other view', async ({ page, open }) => {
  await show(page, open, 'auto=off&at=5&paused');
  await type(page, 'decay', '1m');
  await type(page, 'limit', '30');
  await type(page, 'seed', '9');
  await page.locator('#window').selectOption('5m');
  await page.getByRole('link', { name: 'Compare' }).click();
  await page.waitForSelector('.lane');
  assert.equal(await page.inputValue('#limit'), '30/1m');
  assert.deepEqual([await page.inputValue('#seed'), await page.inputValue('#window')], ['9', '5m']);
  assert.equal(await page.isChecked('#auto'), false);
  assert.equal(await page.inputValue('#auto-rate'), '1.3', 'what was not changed is not carried');
  await type(page, 'limit', '12/2m');
  await page.getByRole('link', { name: 'Scope' }).click();
  await page.waitForSelector('#decay');
  await loaded(page);
  assert.deepEqual([await page.inputValue('#limit'), await page.inputValue('#decay')], ['12', '2m']);
});

pageTest('dresses of the system', async ({ page, open, test }) => {
  await test('with few colours the current tab and the marks are seen', async () => {
    await page.emulateMedia({ forcedColors: 'active' });
    await show(page, open, 'auto=off&at=5&paused');
    const [here, there] = await page.$$eval('nav a', (links) => links.slice(0, 2).map((link) => getComputedStyle(link).backgroundColor));
    assert.notEqual(here, there);
    const mark = await page.$eval('.field.red > label', (label) => getComputedStyle(label, '::before').backgroundColor);
    assert.equal(mark, 'rgb(194, 50, 31)');
    await page.emulateMedia({ forcedColors: 'none' });
  });

  await test('on a page from right to left the picture is the same', async () => {
    await show(page, open, 'auto-rate=2&at=50&paused');
    const before = await picture(page);
    await page.evaluate(() => { document.documentElement.dir = 'rtl'; });
    await page.locator('#theme').click();
    await page.locator('#theme').click();
    await page.mouse.move(5, 5);
    await settle(page);
    assert(await picture(page) === before);
  });

  await test('on paper the picture keeps its shape', async () => {
    await page.evaluate(() => { document.documentElement.dir = 'ltr'; });
    const shape = () => page.$eval('#graph', (graph) => graph.clientWidth / graph.clientHeight / (graph.width / graph.height));
    await prefer(page, { media: 'print' });
    await page.$eval('main', (main) => { main.style.width = '600px'; });
    assert(Math.abs(await shape() - 1) < 0.02, `${await shape()}`);
    await prefer(page, { media: 'screen' });
  });

  await test('the reader’s size of letters counts', async () => {
    await page.evaluate(() => { document.documentElement.style.fontSize = '150%'; });
    assert.equal(await page.$eval('.hint', (hint) => Math.round(parseFloat(getComputedStyle(hint).fontSize))), 20);
  });
});

pageTest('what is opened for print alone has its height', async ({ page, open }) => {
  await page.emulateMedia({ media: 'print' });
  await compare(page, open, quiet);
  await until(page, () => document.querySelector('#graph').height > 800);
  const [shape, wanted] = await page.$eval('#graph', ({ width, height, clientWidth, style }) =>
    [[width, height], [clientWidth, parseFloat(style.height)]]);
  assert.deepEqual(shape, wanted);
  const blank = await page.$eval('#graph', ({ width, height }) => Object.assign(document.createElement('canvas'), { width, height }).toDataURL());
  assert.notEqual(await picture(page), blank);
});

pageTest('on paper is what is to be read, in light', { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' }, async ({ page, open }) => {
  for (const [begin, run, pressed] of [
    [show, 'auto=off&at=5&paused&do=1:events*3', []],
    [compare, `${quiet}&lanes=gcra;exim strict`, ['.add', '.lane .remove']],
    [sampled, '', ['.asked', '#sample', '#copy-configuration']],
  ]) {
    await page.goto('about:blank');
    await begin(page, open, run);
    const inked = await picture(page);
    await prefer(page, { media: 'print' });
    for (const what of ['nav', 'form', '#theme', '#copy', ...pressed]) {
      for (const it of await page.locator(what).all()) assert(await it.isHidden(), `${run}: ${what}`);
    }
    assert.notEqual(await picture(page), inked, `${run}: in light`);
    await prefer(page, { media: 'screen' });
    await settle(page);
  }
});

pageTest('what lies over the lanes is on paper as much smaller as they are', { viewport: { width: 1280, height: 800 } }, async ({ page, open }) => {
  await compare(page, open, `${quiet}&lanes=gcra;exim strict`);
  await prefer(page, { media: 'print' });
  // As if the bitmap had been drawn for a screen twice as wide: for paper it is not redrawn.
  const [head, text] = await page.$eval('.screen', (screen) => {
    screen.style.setProperty('--width', 2 * screen.clientWidth);
    const lane = screen.querySelector('.lane');
    return [lane.clientHeight, parseFloat(getComputedStyle(lane.querySelector('.name')).fontSize)];
  });
  assert(Math.abs(head - 12.5) < 1 && Math.abs(text - 6.5) < 0.1, `${head}, ${text}`);
});
