// Measures the page in headless Chromium and prints a table: script time of a frame, weight, first
// frame, and memory over ten minutes at a million events a second. uPlot draws the same two lines
// beside it, for comparison. Run by ./scripts/bench page.

import { readFileSync, readdirSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { launchBrowser, root, startServer } from '../tests/e2e/launch.mjs';

// The canvas is 1200 x 600 CSS pixels in a window of this size.
const VIEWPORT = { width: 1250, height: 1158 };
const FRAMES = 240;

const server = await startServer();
const browser = await launchBrowser();

// Times every animation frame of the page from within; the site is cross-origin isolated, so the
// clock has a resolution of 5 microseconds.
function timeFrames() {
  const frames = (globalThis.frames_ms = []);
  const request = globalThis.requestAnimationFrame.bind(globalThis);
  globalThis.requestAnimationFrame = (callback) =>
    request((now) => {
      const start = performance.now();
      callback(now);
      const end = performance.now();
      globalThis.first_frame_ms ??= end;
      frames.push(end - start);
    });
}

async function open(link, deviceScaleFactor) {
  const context = await browser.newContext({ viewport: VIEWPORT, deviceScaleFactor });
  const page = await context.newPage();
  await page.addInitScript(timeFrames);
  await page.goto(`${server.origin}/#${link}`);
  await page.waitForFunction(() => globalThis.frames_ms.length > 0);
  return page;
}

const quantile = (values, q) => [...values].sort((a, b) => a - b)[Math.floor(values.length * q)];
const ms = (value) => `${value.toFixed(2)} ms`;
const row = (...cells) => console.log(`| ${cells.join(' | ')} |`);

async function frameTime(name, link, ratio) {
  const page = await open(link, ratio);
  const size = await page.evaluate(() => {
    const { clientWidth, clientHeight } = document.getElementById('graph');
    return `${clientWidth} x ${clientHeight}`;
  });
  // The window is full of events, and the browser has compiled everything, before it counts.
  await page.waitForTimeout(11_000);
  await page.evaluate(() => { globalThis.frames_ms.length = 0; });
  await page.waitForFunction((n) => globalThis.frames_ms.length >= n, FRAMES, { timeout: 60_000 });
  const frames = await page.evaluate(() => globalThis.frames_ms);
  row(name, `${size} at ${ratio}x`, ms(quantile(frames, 0.5)), ms(quantile(frames, 0.95)));
  await page.context().close();
}

// Two lines of a million points, moved on and drawn anew in each frame.
async function uplotTime() {
  const page = await open('auto=off', 1);
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

async function firstFrame() {
  const times = [];
  for (let i = 0; i < 7; i++) {
    const page = await open('', 1);
    times.push(await page.evaluate(() => globalThis.first_frame_ms));
    await page.context().close();
  }
  return quantile(times, 0.5);
}

// The module's memory and the most columns it keeps, after one and after ten minutes of the scope.
async function memory() {
  const page = await open('auto=on&pattern=poisson&auto-rate=1000000&speed=10', 1);
  const bytes = async (events) => {
    await page.waitForFunction(
      (n) => ['allowed', 'refused'].reduce((sum, id) => sum + Number(document.getElementById(id).dataset.value), 0) >= n,
      events,
      { timeout: 600_000, polling: 500 },
    );
    return page.evaluate(async () => (await (await import('/pkg/scope.js')).default()).memory.buffer.byteLength);
  };
  const result = [await bytes(60e6), await bytes(600e6)];
  await page.context().close();
  return result;
}

function weight() {
  const files = ['index.html', 'style.css', 'icon.svg', ...readdirSync(`${root}www`).filter((f) => f.endsWith('.js'))];
  files.push(...readdirSync(`${root}www/pkg`).filter((f) => /\.(js|wasm)$/.test(f)).map((f) => `pkg/${f}`));
  return files.map((file) => [file, gzipSync(readFileSync(`${root}www/${file}`), { level: 9 }).length]);
}

const only = process.argv[2];
const wanted = (name) => !only || only === name;

if (wanted('frames')) {
  row('script time of a frame', 'canvas', 'median', '95 %');
  row('---', '---', '---:', '---:');
  for (const ratio of [1, 2]) {
    await frameTime('1 event a second', 'auto=on&pattern=steady&auto-rate=1&window=10s', ratio);
    await frameTime('1,000,000 a second, steady', 'auto=on&pattern=steady&auto-rate=1000000&window=10s', ratio);
    await frameTime('1,000,000 a second, Poisson', 'auto=on&pattern=poisson&auto-rate=1000000&window=10s', ratio);
  }
  await uplotTime();
  console.log();
}
if (wanted('weight')) {
  row('weight, gzipped', 'bytes');
  row('---', '---:');
  const files = weight();
  for (const [file, bytes] of files) row(file, bytes);
  row('together', files.reduce((sum, [, bytes]) => sum + bytes, 0));
  console.log();
}
if (wanted('start')) console.log(`first frame drawn ${(await firstFrame()).toFixed(0)} ms after navigation (median of 7)\n`);
if (wanted('memory')) {
  const [one, ten] = await memory();
  console.log(`memory of the module at 1,000,000 events a second: ${one} bytes after 1 minute, ${ten} after 10`);
}

await browser.close();
await server.close();
