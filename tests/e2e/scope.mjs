// Shared by the tests of the page: reading the Scope, its picture and its link.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { root } from './launch.mjs';

// A picture without easing, at two device pixels a CSS pixel, so that every line has pixels of its exact
// colour.
export const crisp = {
  viewport: { width: 1280, height: 800 },
  deviceScaleFactor: 2,
  colorScheme: 'light',
  reducedMotion: 'reduce',
};

// The contexts whose pages have a stopped clock.
const stopped = new WeakSet();

// Stops the clock of every page of the context, before one is opened. The page's time then passes only as the
// test says, with settle, until and page.clock.runFor(milliseconds). So no test depends on the speed of the
// machine, and none waits for the delays of the page.
export async function stopClock(page) {
  const context = page.context();
  if (stopped.has(context)) return;
  stopped.add(context);
  await context.addInitScript(() => { globalThis.browserFrame = requestAnimationFrame.bind(globalThis); });
  await page.clock.install({ time: 0 });
  await page.clock.pauseAt(1000);
}

// Opens a page at a path with its clock stopped. If the page is open already, only its fragment changes.
export async function visit(page, open, path, fragment) {
  if (page.url() === 'about:blank') {
    await stopClock(page);
    await open(path + (fragment && '#') + fragment);
    await loaded(page);
  } else {
    await follow(page, fragment);
    await settle(page);
  }
}

// Opens the scope at a fragment, with all controls in sight.
export async function show(page, open, fragment = '') {
  await visit(page, open, '/', fragment);
  await page.$eval('#more', (more) => { more.open = true; });
}

// Waits for the first frame of a page, which comes after its load event.
export async function loaded(page) {
  await page.waitForFunction((stopped) => document.querySelector('#failed')?.hidden && (stopped
    ? document.documentElement.dataset.started !== undefined
    : document.querySelector('#rate, #sent')?.dataset.value !== undefined), stopped.has(page.context()));
  if (stopped.has(page.context())) await settle(page);
}

// Waits until a page has begun and drawn its first frame, whatever it shows; with a stopped clock, until it has begun.
export async function started(page) {
  await until(page, () => document.documentElement?.dataset.started === '');
  // The page has asked for its first frame by now, and the browser serves who asks first.
  if (!stopped.has(page.context())) await page.evaluate(() => new Promise(requestAnimationFrame));
}

export async function reload(page) {
  await page.reload();
  await loaded(page);
  await settle(page);
}

// Lets the page's time pass until `holds` is true in it; fails after two minutes of that time.
export async function until(page, holds, argument) {
  if (!stopped.has(page.context())) return page.waitForFunction(holds, argument);
  for (let tenths = 0; tenths < 1200; tenths++) {
    if (await page.evaluate(holds, argument)) return;
    await page.clock.runFor(100);
  }
  assert.fail(`it never is so that ${holds}`);
}

// Waits until the address has a part; it follows the settings a little later.
export const address = (page, part) => until(page, (part) => decodeURIComponent(location.hash).includes(part), part);

// Gives the address of an open page a fragment, which the page loads even if it was there already.
export const follow = (page, fragment) => page.evaluate((fragment) => {
  scrollTo(0, 0);
  history.replaceState(null, '', '#it-may-be-there-already');
  return new Promise((done) => {
    addEventListener('hashchange', () => done(), { once: true });
    location.hash = fragment;
  });
}, fragment);

// Waits until the last action is on the screen: for a frame of the browser, in which it tells the page of
// sizes and of the viewer's preferences, and for some frames of the page.
export async function settle(page) {
  await page.evaluate(() => new Promise((done) => {
    if (globalThis.browserFrame) browserFrame(() => done());
    else requestAnimationFrame(() => requestAnimationFrame(done));
  }));
  if (stopped.has(page.context())) await page.clock.runFor(50);
}

// Gives the window another size, and waits until the page has it and is drawn.
export async function resize(page, size) {
  await page.setViewportSize(size);
  await page.waitForFunction(({ width, height }) => innerWidth === width && innerHeight === height, size);
  await settle(page);
}

// The unrounded numbers of readouts.
export const values = (page, ...ids) => page.evaluate((ids) => ids.map((id) => {
  const { value } = document.getElementById(id).dataset;
  return value === undefined ? undefined : Number(value);
}), ids);

export const value = async (page, id) => (await values(page, id))[0];

// The number of events, allowed and refused.
export const events = async (page) => {
  const [allowed, refused] = await values(page, 'allowed', 'refused');
  return allowed + refused;
};

// Clicks with the primary button in the middle of the graph, away from the limit's line.
export async function click(page) {
  const [x, y] = await page.$eval('#graph', (graph) => {
    const box = graph.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + 0.6 * box.height];
  });
  await page.mouse.click(x, y);
  await settle(page);
}

export async function press(page, selector) {
  await page.locator(selector).click();
  await settle(page);
}

// Lets tenths of a second pass, by the button for a step.
export async function step(page, times = 1) {
  await page.$eval('#step', (button, times) => {
    for (let i = 0; i < times; i++) button.click();
  }, times);
  await settle(page);
}

// Writes in a box and ends the typing, so that an error is told at once.
export async function type(page, id, text) {
  await page.locator(`#${id}`).fill(text);
  await page.locator(`#${id}`).dispatchEvent('change');
  await settle(page);
}

// The error beside a box, and whether the box is marked as wrong.
export const wrong = (page, id) => page.evaluate((id) => [
  document.getElementById(`${id}-error`).textContent,
  document.getElementById(id).getAttribute('aria-invalid'),
], id);

// The options of a context in which `recording` works.
export const clipboard = { permissions: ['clipboard-read', 'clipboard-write'] };

// Copies the link, and returns its fragment.
export async function recording(page) {
  await page.evaluate(() => navigator.clipboard.writeText(''));
  await page.locator('#copy').click();
  const link = await page.waitForFunction(() => navigator.clipboard.readText());
  return new URL(await link.jsonValue()).hash.slice(1);
}

// Opens the menu of Share, and presses a button of it.
export async function share(page, id) {
  if (!await page.locator(id).isVisible()) await page.locator('#copy').click();
  await page.locator(id).click();
}

// The plot within the canvas in CSS pixels, as view/scope/layout.rs of ratescope-lab lays it out. The edges to the left
// and right are those of the lanes, too.
export async function plot(page) {
  const [width, height] = await page.$eval('#graph', (graph) => [graph.clientWidth, graph.clientHeight]);
  const [before, after] = width < 480 ? [44, 80] : [60, 108];
  return { left: before, right: width - after, top: 30, bottom: height - 68 };
}

// The colours of the canvas down the line at `x` CSS pixels: one "#rrggbb" for each device pixel. They are
// read from a copy: after reading the canvas itself the browser warns, and draws on it slowly.
export const column = (page, x) => page.$eval('#graph', (graph, x) => {
  const copy = Object.assign(document.createElement('canvas'), { width: 1, height: graph.height });
  const context = copy.getContext('2d', { willReadFrequently: true });
  context.drawImage(graph, -Math.round(x * graph.width / graph.clientWidth), 0);
  const data = context.getImageData(0, 0, 1, graph.height).data;
  const hex = (i) => [...data.slice(i, i + 3)].map((c) => c.toString(16).padStart(2, '0')).join('');
  return Array.from({ length: graph.height }, (_, y) => `#${hex(4 * y)}`);
}, x);

// The place of an ink in a column: the middle of its pixels, in device pixels.
export function height(colours, ink) {
  const found = colours.flatMap((colour, y) => (colour === ink ? [y] : []));
  if (found.length === 0) throw new Error(`no pixel is ${ink}`);
  return (found[0] + found.at(-1)) / 2;
}

// The y of the limit's line, in CSS pixels from the top. The line is dashed, so several columns are tried.
export async function limitLine(page) {
  const [{ left, right }, ratio] = [await plot(page), await page.evaluate(() => devicePixelRatio)];
  for (let x = (left + right) / 2; x < right; x++) {
    const colours = await column(page, x);
    if (colours.includes(inks.light.Limit)) return height(colours, inks.light.Limit) / ratio;
  }
  throw new Error('there is no line of the limit');
}

// The whole picture, to compare it with another.
export const picture = (page) => page.$eval('#graph', (graph) => graph.toDataURL());

// The palette of the graph, from its source: inks.light.Rate is "#c2321f".
export const inks = { light: {}, dark: {} };
for (const [, ink, light, dark] of readFileSync(`${root}crates/ratescope-lab/src/plot/palette.rs`, 'utf8')
  .matchAll(/Ink::(\w+) => \["(#\w+)", "(#\w+)"\]/g)) {
  inks.light[ink] = light;
  inks.dark[ink] = dark;
}

// Notes the texts of the last picture on each canvas; call it before the page opens, then ask written(page), or
// written(page, id) about another canvas than the graph.
export const noteTexts = (page) => page.addInitScript(() => {
  const { clearRect, fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function (...args) {
    this.canvas.written = [];
    return clearRect.apply(this, args);
  };
  CanvasRenderingContext2D.prototype.fillText = function (...args) {
    this.canvas.written.push(args[0]);
    return fillText.apply(this, args);
  };
});

export const written = (page, id = 'graph') => page.$eval(`#${id}`, (canvas) => canvas.written);

// Moves the mouse to a place in the window and lets it rest there, for the crosshair.
export async function rest(page, x, y) {
  await page.mouse.move(x - 20, y);
  await page.mouse.move(x, y);
  await page.clock.runFor(200);
  await settle(page);
}

// Counts pictures: each begins by clearing the last one. Call it before the page opens.
export const countPictures = (page) => page.addInitScript(() => {
  const { clearRect } = CanvasRenderingContext2D.prototype;
  globalThis.pictures = 0;
  CanvasRenderingContext2D.prototype.clearRect = function (...args) {
    globalThis.pictures++;
    return clearRect.apply(this, args);
  };
});

// The number of pictures that are drawn while so many milliseconds pass on the clock of the page.
export async function picturesIn(page, milliseconds) {
  const before = await page.evaluate(() => globalThis.pictures);
  await page.clock.runFor(milliseconds);
  return await page.evaluate(() => globalThis.pictures) - before;
}

// Gives an open page a viewer who prefers another theme, motion or medium, and waits until the page was told.
export async function prefer(page, wish) {
  const [[what, value]] = Object.entries(wish);
  const feature = { colorScheme: 'prefers-color-scheme', reducedMotion: 'prefers-reduced-motion' }[what];
  const told = page.evaluate((query) => new Promise((done) => {
    const asked = matchMedia(query);
    if (asked.matches) done();
    else asked.addEventListener('change', () => done(), { once: true });
  }), feature ? `(${feature}: ${value})` : value);
  await page.emulateMedia(wish);
  await told;
}

// Makes the browser one that keeps nothing for a page; call it before the page opens.
export const denyStores = (page) => page.addInitScript(() => {
  for (const name of ['indexedDB', 'sessionStorage', 'localStorage']) {
    Object.defineProperty(globalThis, name, { get() { throw new DOMException('denied', 'SecurityError'); } });
  }
});

// Imitates a browser that hides the tab or shows it again, since a test can't make it do so: first comes the
// state, then the event.
export async function hide(page, hidden) {
  await page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
    const state = hidden ? 'hidden' : 'visible';
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
}

// The name of the element that has the focus.
export const focused = (page) => page.evaluate(() => {
  const { activeElement: element } = document;
  return element.id || element.ariaLabel || element.textContent;
});

// Fails unless the element that has the focus has a ring and is on the screen. The browser may scroll to it a
// frame after the key, and scrolls by whole pixels, so up to one pixel of it may be missing.
export async function assertFocusIsSeen(page) {
  const name = await focused(page);
  assert(await page.evaluate(() => {
    const { activeElement: element } = document;
    const style = getComputedStyle(element);
    return element.matches(':focus-visible') && style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
  }), `${name} does not show that it has the focus`);
  await page.waitForFunction(() => {
    const { top, bottom } = document.activeElement.getBoundingClientRect();
    return top > -1 && bottom < innerHeight + 1;
  }).catch(async () => {
    const now = await page.evaluate(() => {
      const { top, bottom } = document.activeElement.getBoundingClientRect();
      return { top, bottom, innerHeight, scrollY };
    });
    assert.fail(`${name} is out of sight: ${JSON.stringify(now)}`);
  });
}

// Exim's rate after an event of cost 1 that comes d seconds after the one that left it at r; p is
// the decay interval. The first event finds r = 0 and d = Infinity.
export function exim(r, d, p) {
  const x = Math.max(d, 1e-9) / p;
  const mean = x === Infinity ? 0 : -Math.expm1(-x) / x;
  return Math.max(mean + Math.exp(-x) * r, 1);
}

// The smoothed rate d seconds after it was B and the rate was R; p is the decay interval, q the increase
// interval.
export function smooth(B, R, d, p, q) {
  const x = d / q - d / p;
  const phi = x === 0 ? 1 : Math.expm1(x) / x;
  return B * Math.exp(-d / q) + R * (d / q) * Math.exp(-d / q) * phi;
}

// Both rates at `now` after events of cost 1 at the times given, in seconds.
export function lines(times, now, p, q) {
  let [rate, smoothed, at] = [0, 0, -Infinity];
  for (const time of times) {
    const d = time - at;
    smoothed = d === Infinity ? 0 : smooth(smoothed, rate, d, p, q);
    rate = exim(rate, d, p);
    at = time;
  }
  return [rate * Math.exp(-(now - at) / p), smooth(smoothed, rate, now - at, p, q)];
}

export const close = (a, b, relative = 1e-9) => Math.abs(a - b) <= relative * Math.max(Math.abs(a), Math.abs(b));

// Fails unless the summary of a page, whose clock is stopped, is told rarely, and at once after an action.
export async function assertPolite(page) {
  await page.evaluate(() => {
    globalThis.said = 0;
    new MutationObserver(() => globalThis.said++).observe(document.querySelector('#summary'), { childList: true });
  });
  await page.clock.runFor(12_000);
  assert(await page.evaluate(() => globalThis.said) <= 2);
  const before = await page.textContent('#summary');
  await page.locator('#graph').focus();
  await page.keyboard.press('Space');
  await page.clock.runFor(50);
  assert.notEqual(await page.textContent('#summary'), before);
}
