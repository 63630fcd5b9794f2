// Measures the pages in headless Chromium and prints tables: the script time of a frame, the weight, the
// first frame, the memory over ten minutes of many events, how fast Tune reads a log, and the scores of Lighthouse. For
// comparison, a Worker reads the same file and does nothing with it, uPlot
// draws two lines like the scope's, and an empty page is opened in turn with the others. Live shows a replay.
// Of other engines that are installed, the frames in a second are measured. ./scripts/bench page runs all of
// it, or the table that is named.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, openSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path/posix';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { launchBrowser, root, startReplay, startServer } from '../tests/e2e/launch.mjs';
import { frames } from './engines.mjs';

// The canvas is 1200 x 600 CSS pixels in a window of this size.
const VIEWPORT = { width: 1250, height: 1158 };
// The lanes' canvas is 1200 x 883 in a window of this size.
const TALL = { width: 1250, height: 1000 };
const COMPARE = 'compare.html#limit=8000/1s&auto=on&pattern=poisson&auto-rate=10000&window=10s';
const FRAMES = 240;

// The site, with an empty page beside the others, which draws one frame.
const folder = mkdtempSync(join(tmpdir(), 'ratescope-bench-'));
cpSync(`${root}www`, `${folder}/www`, { recursive: true });
writeFileSync(`${folder}/www/empty.html`, '<!DOCTYPE html><title>Empty</title><canvas></canvas><script src="empty.js"></script>');
writeFileSync(`${folder}/www/empty.js`, 'requestAnimationFrame(() => {});');
// A canvas as large as the Scope's, on which a small square moves: the least that an engine does for a frame.
writeFileSync(
  `${folder}/www/square.html`,
  '<!DOCTYPE html><title>Square</title><canvas width=1200 height=618></canvas><script src="square.js"></script>',
);
writeFileSync(
  `${folder}/www/square.js`,
  `const context = document.querySelector('canvas').getContext('2d');
  requestAnimationFrame(function draw(now) {
    context.clearRect(0, 0, 1200, 618);
    context.fillRect((now / 10) % 1200, 300, 5, 5);
    requestAnimationFrame(draw);
  });`,
);
const server = await startServer(['--dir', `${folder}/www`]);
const browser = await launchBrowser();

// The address of a page: Live needs something to show, so its page is that of a replay.
const sample = ['sample', '--lines', '8000', '--over', '2h'];
writeFileSync(`${folder}/log`, execFileSync(process.env.RATESCOPE, sample, { maxBuffer: 1 << 26 }));
const replay = await startReplay(`${folder}/log`, 'gcra 30/1m per ip', '10/1s per all');
const link = (page) => (page === 'live.html' ? replay.url : `${server.origin}/${page}`);

// A Worker that only reads a file, and copies it into the memory of a module if asked to.
writeFileSync(
  `${folder}/www/floor.js`,
  `const memory = new Uint8Array(new WebAssembly.Memory({ initial: 64 }).buffer);
  onmessage = async ({ data: { blob, into } }) => {
    const start = performance.now();
    const reader = blob.stream().getReader({ mode: 'byob' });
    for (let next, buffer = new ArrayBuffer(1 << 21); !(next = await reader.read(new Uint8Array(buffer))).done; buffer = next.value.buffer) {
      if (into) memory.set(next.value);
    }
    postMessage(performance.now() - start);
  };`,
);

// Times every animation frame of the page from within; the site is cross-origin isolated, so the
// clock has a resolution of 5 microseconds. The first frame is the first one with a picture in it; the empty
// page has none.
function timeFrames() {
  const frames = (globalThis.frames_ms = []);
  let isDrawn = false;
  const { clearRect } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function (...args) {
    isDrawn ||= document.documentElement.dataset.started !== undefined;
    if (isDrawn) CanvasRenderingContext2D.prototype.clearRect = clearRect;
    return clearRect.apply(this, args);
  };
  const request = globalThis.requestAnimationFrame.bind(globalThis);
  globalThis.requestAnimationFrame = (callback) =>
    request((now) => {
      const start = performance.now();
      callback(now);
      const end = performance.now();
      if (isDrawn || !document.getElementById('graph')) globalThis.first_frame_ms ??= end;
      frames.push(end - start);
    });
}

// A window of Chromium goes on opening for a second, on both processors: `rest` is the time to wait for that before the
// page is opened in it, in milliseconds.
async function open(path, deviceScaleFactor, viewport = VIEWPORT, rest = 0) {
  const context = await browser.newContext({ viewport, deviceScaleFactor });
  const page = await context.newPage();
  await page.addInitScript(timeFrames);
  await page.waitForTimeout(rest);
  await page.goto(link(path));
  await page.waitForFunction(() => globalThis.first_frame_ms !== undefined);
  return page;
}

const quantile = (values, q) => [...values].sort((a, b) => a - b)[Math.floor(values.length * q)];
const ms = (value) => `${value.toFixed(2)} ms`;
const row = (...cells) => console.log(`| ${cells.join(' | ')} |`);

async function frameTime(name, path, ratio, viewport) {
  const page = await open(path, ratio, viewport);
  const size = await page.evaluate(() => {
    const { clientWidth, clientHeight } = document.getElementById('graph');
    return `${clientWidth} x ${clientHeight}`;
  });
  // After 11 s the window is full of events, and the browser has compiled everything: now the frames count.
  await page.waitForTimeout(11_000);
  await page.evaluate(() => { globalThis.frames_ms.length = 0; });
  await page.waitForFunction((n) => globalThis.frames_ms.length >= n, FRAMES, { timeout: 60_000 });
  const frames = await page.evaluate(() => globalThis.frames_ms);
  row(name, `${size} at ${ratio}x`, ms(quantile(frames, 0.5)), ms(quantile(frames, 0.95)));
  await page.context().close();
}

// Two lines of a million points, moved on and redrawn in each frame.
async function uplotTime() {
  const page = await open('#auto=off', 1);
  await page.evaluate(readFileSync(`${root}node_modules/uplot/dist/uPlot.iife.min.js`, 'utf8'));
  const times = await page.evaluate(async () => {
    const points = 1_000_000;
    const x = Float64Array.from({ length: points }, (_, i) => i);
    const red = x.map((i) => 10 + Math.sin(i / 4e4) + Math.random());
    const blue = x.map((i) => 10 + Math.sin(i / 4e4));
    const series = [{}, { stroke: 'red' }, { stroke: 'blue' }];
    const chart = new globalThis.uPlot(
      { width: 1200, height: 600, series, scales: { x: { time: false } } },
      [x, red, blue],
      document.body,
    );
    const times = [];
    for (let frame = 0; frame < 40; frame++) {
      await new Promise((next) => requestAnimationFrame(next));
      x.forEach((value, i) => { x[i] = value + 16_667; });
      const start = performance.now();
      chart.batch(() => chart.setData([x, red, blue]));
      await null; // uPlot draws in a microtask
      times.push(performance.now() - start);
    }
    return times;
  });
  row('uPlot, 2 lines of 1,000,000 points', '1200 x 600 at 1x', ms(quantile(times, 0.5)), ms(quantile(times, 0.95)));
  await page.context().close();
}

// When each page has drawn its first frame, in milliseconds, measured in turn with an empty page that draws
// one: in a window that is open, and in one that is just opening.
async function firstFrames() {
  const times = new Map(['empty.html', ...pages].map((name) => [name, [[], []]]));
  for (let i = 0; i < 15; i++) {
    for (const [name, each] of times) {
      for (const [kind, rest] of [1500, 0].entries()) {
        const page = await open(name, 1, VIEWPORT, rest);
        each[kind].push(await page.evaluate(() => globalThis.first_frame_ms));
        await page.context().close();
      }
    }
  }
  return [...times].map(([name, each]) => [name, ...each.map((times) => quantile(times, 0.5))]);
}

// The bytes of the module's memory after one and after ten minutes of its page's time, told by its events.
async function memory(path, events) {
  const page = await open(path, 1);
  const bytes = async (events) => {
    await page.waitForFunction((n) => globalThis.events() >= n, events, { timeout: 600_000, polling: 500 });
    return page.evaluate(async () => (await (await import('/pkg/ratescope_page.js')).default()).memory.buffer.byteLength);
  };
  await page.evaluate(() => {
    const ids = document.getElementById('sent') ? ['sent'] : ['allowed', 'refused'];
    globalThis.events = () => ids.reduce((sum, id) => sum + Number(document.getElementById(id).dataset.value), 0);
  });
  const result = [await bytes(events), await bytes(10 * events)];
  await page.context().close();
  return result;
}

// How many MB of a log are read in a second: by Tune, and by a Worker that drops the bytes or copies them into
// the memory of a module, in turn. The file is new to each page.
async function reading() {
  const log = `${folder}/access.log`;
  const lines = ['sample', '--lines', '1000000', '--over', '30d'];
  execFileSync(process.env.RATESCOPE, lines, { stdio: ['ignore', openSync(log, 'w'), 'inherit'] });
  const { size } = statSync(log);
  const floor = async (into) => {
    const page = await open('empty.html', 1);
    await page.evaluate(() => document.body.append(Object.assign(document.createElement('input'), { type: 'file' })));
    await page.locator('input').setInputFiles(log);
    const ms = await page.evaluate((into) => new Promise((resolve) => {
      const worker = new Worker('floor.js');
      worker.onmessage = ({ data }) => resolve(data);
      worker.postMessage({ blob: document.querySelector('input').files[0], into });
    }), into);
    await page.context().close();
    return size / 1e3 / ms;
  };
  const tune = async () => {
    const page = await open('tune.html', 1);
    await page.waitForFunction(() => document.getElementById('untouched').value !== '');
    // On the first visit, the browser stores the site a second after the first picture, which takes a processor for a
    // quarter of a second. Nobody has chosen a log by then.
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => {}));
    await page.waitForTimeout(500);
    await page.locator('#files').setInputFiles(log);
    const said = () => document.getElementById('t-speed').textContent.match(/(\d+) MB\/s/)?.[1];
    const speed = await page.waitForFunction(said, null, { polling: 100, timeout: 120_000 });
    const value = Number(await speed.jsonValue());
    await page.context().close();
    return value;
  };
  const tasks = [['Tune', tune], ['only reading it', () => floor(false)], ['and copying it into a module', () => floor(true)]];
  const speeds = tasks.map(([name]) => [name, []]);
  for (let i = 0; i < 8; i++) for (const [task, [, each]] of speeds.entries()) each.push(await tasks[task][1]());
  return { size, speeds };
}

// The files that a page loads: those that its HTML file names, and those that its scripts name, which are
// other scripts, modules and Workers.
const pages = readdirSync(`${root}www`).filter((file) => file.endsWith('.html'));
const read = (file) => readFileSync(`${root}www/${file}`);
const named = (file, pattern) => [...`${read(file)}`.matchAll(pattern)].map(([, name]) => name);
const loads = (page) => {
  const files = new Set([page, ...named(page, /(?:href|src)="([\w/.-]+\.(?:css|js|svg))"/g)]);
  // A Worker imports its module, or that of the pages where it has none.
  const pattern = /(?:new URL\(|\bfrom\s*|=> import\((?=.*catch))["']([\w/.-]+\.(?:js|wasm))["']/g;
  const beside = (file) => named(file, pattern).map((name) => join(dirname(file), name));
  // A set also visits items that are added during the loop.
  for (const file of files) if (file.endsWith('.js')) beside(file).forEach((name) => files.add(name));
  return files;
};
// The sum of the bytes of files, each packed by gzip, and each by Brotli.
const packers = [(bytes) => gzipSync(bytes, { level: 9 }), brotliCompressSync];
const weights = (files) => packers.map((pack) => [...files].reduce((sum, file) => sum + pack(read(file)).length, 0));

const only = process.argv[2];
const wanted = (name) => !only || only === name;

if (wanted('frames')) {
  row('script time of a frame', 'canvas', 'median', '95 %');
  row('---', '---', '---:', '---:');
  for (const ratio of [1, 2]) {
    await frameTime('scope, 1 event a second', '#auto=on&pattern=steady&auto-rate=1&window=10s', ratio);
    await frameTime('scope, 1,000,000 a second, steady', '#auto=on&pattern=steady&auto-rate=1000000&window=10s', ratio);
    await frameTime('scope, 1,000,000 a second, Poisson', '#auto=on&pattern=poisson&auto-rate=1000000&window=10s', ratio);
    await frameTime('the same, with what is remembered', '#auto=on&pattern=poisson&auto-rate=1000000&window=10s&memory=on', ratio);
    await frameTime('compare, 8 lanes, 10,000 a second', COMPARE, ratio, TALL);
  }
  await uplotTime();
  console.log();
}
if (wanted('weight')) {
  row('bytes', 'gzipped', 'by Brotli');
  row('---', '---:', '---:');
  const all = new Set(pages.flatMap((page) => [...loads(page)]));
  for (const file of all) row(file, ...weights([file]));
  for (const page of pages) row(`all that ${page} loads`, ...weights(loads(page)));
  row('all views together', ...weights(all));
  console.log();
}
if (wanted('start')) {
  row('page', 'first frame after', 'in a window just opened');
  row('---', '---:', '---:');
  for (const [name, ...times] of await firstFrames()) row(name, ...times.map((time) => `${time.toFixed(0)} ms`));
  console.log();
}
if (wanted('memory')) {
  for (const [page, ...run] of [
    ['scope, 1,000,000 events a second', '#auto=on&pattern=poisson&auto-rate=1000000&speed=10', 60e6],
    ['compare, 8 lanes, 10,000 events a second', `${COMPARE}&speed=10`, 0.6e6],
  ]) {
    const [one, ten] = await memory(...run);
    console.log(`memory of the module, ${page}: ${one} bytes after 1 minute, ${ten} after 10`);
  }
}

if (wanted('reading')) {
  const { size, speeds } = await reading();
  row(`a log of ${Math.round(size / 1e6)} MB, MB/s`, 'slowest', 'median', 'fastest');
  row('---', '---:', '---:', '---:');
  for (const [name, each] of speeds) row(name, ...[0, 0.5, 0.99].map((q) => quantile(each, q).toFixed(0)));
  console.log();
}

if (wanted('engines')) {
  row('other engines, no graphics card', 'page', 'frames a second', 'script time of a frame');
  row('---', '---', '---:', '---:');
  const each = ['index.html', 'compare.html', 'square.html'];
  for await (const { engine, page, rate, script } of frames(server.origin, each)) {
    row(engine, page, rate.toFixed(0), ms(script));
  }
  console.log();
}

if (wanted('lighthouse')) {
  row('Lighthouse', 'screen', 'performance', 'accessibility', 'best practices', 'SEO', 'layout shift');
  row('---', '---', ...Array(5).fill('---:'));
  const { default: lighthouse, desktopConfig } = await import('lighthouse');
  const port = 9222;
  const observed = await launchBrowser(`--remote-debugging-port=${port}`);
  const onlyCategories = ['performance', 'accessibility', 'best-practices', 'seo'];
  for (const page of pages) {
    for (const [screen, config] of [['phone'], ['desktop', desktopConfig]]) {
      const { lhr } = await lighthouse(link(page), { port, logLevel: 'error', onlyCategories }, config);
      const scores = onlyCategories.map((category) => Math.round(100 * lhr.categories[category].score));
      row(page, screen, ...scores, lhr.audits['cumulative-layout-shift'].displayValue);
    }
  }
  await observed.close();
}

await browser.close();
await server.close();
await replay.close();
rmSync(folder, { recursive: true });
