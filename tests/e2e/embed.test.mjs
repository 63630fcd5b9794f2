// One picture in a frame of another site, and the button that copies the frame.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import { assertClean } from './clean.mjs';
import { compare } from './compare.mjs';
import { pageTest } from './harness.mjs';
import { root } from './launch.mjs';
import { clipboard, hide, noteTexts, prefer, recording, resize, settle, share, show, started, stopClock, until, written } from './scope.mjs';

const small = { viewport: { width: 600, height: 320 } };
const three = 'lanes=fixed-window;sliding-log;token-bucket&limit=10/5s&auto=off&at=8&paused&do=4:events*12';

// Opens the picture by itself, with its clock stopped.
async function embed(page, open, link) {
  await stopClock(page);
  await open(`/embed.html${link}`);
  await started(page);
  await settle(page);
}

// Another site, whose page has a frame below so many pixels of nothing. Returns its address, and close().
async function site(src, above = 0, more = '') {
  const frame = `<iframe ${more} src="${src.replaceAll('&', '&amp;')}" width="600" height="320" title="a limiter"></iframe>`;
  const html = `<!DOCTYPE html><html lang="en"><link rel="icon" href="data:,"><title>An article</title><div style="height: ${above}px"></div>${frame}`;
  const server = createServer((_, response) => { response.setHeader('content-type', 'text/html').end(html); });
  await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
  const close = () => new Promise((done) => { server.close(done); server.closeAllConnections(); });
  return { url: `http://127.0.0.1:${server.address().port}/`, close };
}

// The problem that the harness reports for requests to the other site.
const elsewhere = /^request to another origin: http:\/\/127\.0\.0\.1:\d+\/$/;

// Opens a page of another site with a frame, and gives the frame to `body`.
async function framed(page, src, body, above, more) {
  const { url, close } = await site(src, above, more);
  try {
    await stopClock(page);
    await page.goto(url);
    await body(page.frames()[1]);
  } finally {
    await page.goto('about:blank');
    await close();
  }
}

// Lets time pass on the page until `holds` is true in its frame.
async function comes(page, frame, holds) {
  for (let tenths = 0; !await frame.evaluate(holds); tenths++) {
    assert(tenths < 600, `it never is so that ${holds}`);
    await page.clock.runFor(100);
  }
}
const begins = (page, frame) => comes(page, frame, () => document.querySelector('#caption')?.textContent);

const counts = (frame) => frame.textContent('#caption').then((text) => text.match(/(\d+) allowed, (\d+) refused/).slice(1).map(Number));

// Such a frame has an origin of its own, which may not read the page’s modules.
pageTest('in a sandbox that only allows scripts it says what it needs', { allow: [elsewhere, /CORS|ERR_|blocked/] }, async ({ page, origin }) => {
  await framed(page, `${origin}/embed.html#limit=3&auto=off&at=5`, async (frame) => {
    await comes(page, frame, () => document.querySelector('#failed')?.checkVisibility());
    assert.match(await frame.textContent('#failed'), /could not start.*allow-same-origin/s);
    assert.equal(await frame.locator('.loading').isVisible(), false);
  }, 0, 'sandbox="allow-scripts"');
});

pageTest('in a frame of another site it runs, and a click is an event', { allow: [elsewhere] }, async ({ page, origin }) => {
  await framed(page, `${origin}/embed.html#limit=3&auto=off&at=5`, async (frame) => {
    await begins(page, frame);
    assert.equal(await frame.textContent('#caption'), 'Rate 0 per 10\u202fs, limit 3. 0 allowed, 0 refused.');
    await page.mouse.click(300, 150);
    await page.mouse.move(800, 600);
    await settle(page);
    assert.deepEqual(await counts(frame), [1, 0]);
    // The canvas has the focus by the click.
    for (let i = 0; i < 3; i++) await page.keyboard.press('Space');
    await page.clock.runFor(200);
    assert.deepEqual(await counts(frame), [3, 1]);
    assert.match(await frame.textContent('#summary'), /3 allowed, 1 refused/);
    // A link of the frame's page begins another run.
    await frame.evaluate(() => { location.hash = 'limit=2&auto=off&at=5&do=1:events*4'; });
    await comes(page, frame, () => document.querySelector('#caption').textContent.endsWith('2 allowed, 2 refused.'));
    assert.equal(await frame.getAttribute('#open', 'href'), 'index.html#limit=2&auto=off&at=5&do=1:events*4');
  });
});

pageTest('no other file may be framed', { allow: [elsewhere, /frame-ancestors/] }, async ({ page, origin }) => {
  for (const path of ['/', '/index.html', '/compare.html', '/story.html', '/tune.html', '/live.html']) {
    await framed(page, origin + path, async (frame) => {
      assert.equal(await frame.locator('canvas').count(), 0, path);
      assert.match(frame.url(), /^chrome-error:/, path);
    });
  }
});

pageTest('out of sight it waits', { allow: [elsewhere] }, async ({ page, origin }) => {
  const link = '/embed.html#pattern=steady&auto-rate=1&limit=0';
  await framed(page, origin + link, async (frame) => {
    await comes(page, frame, () => document.documentElement?.dataset.started === '');
    await settle(page);
    await page.clock.runFor(30_000);
    await page.evaluate(() => scrollTo(0, 5000));
    await begins(page, frame);
    const [before] = await counts(frame);
    assert(before <= 61, `${before} events: those of a minute before it was opened`);
    await page.clock.runFor(5000);
    const [after] = await counts(frame);
    assert(after >= before + 4, `${after} events, and ${before} before`);
    await page.evaluate(() => scrollTo(0, 0));
    await settle(page);
    await page.clock.runFor(30_000);
    await page.evaluate(() => scrollTo(0, 5000));
    await settle(page);
    await page.clock.runFor(200);
    assert((await counts(frame))[0] <= after + 2, 'it went on while nobody saw it');
  }, 4000);
});

// Copies the frame, and returns its attributes.
async function copied(page) {
  await share(page, '#copy-embed');
  // It says so when the clipboard has taken the text.
  await until(page, () => document.querySelector('#copy-embed').textContent === 'Copied');
  const text = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(text, /^<iframe [^<>]*><\/iframe>$/);
  const [, attributes] = text.match(/^<iframe ([^<>]*)><\/iframe>$/);
  const pairs = [...attributes.matchAll(/([a-z]+)="([^"]*)" ?/g)];
  assert.equal(pairs.map(([all]) => all).join(''), attributes);
  return Object.fromEntries(pairs.map(([, name, value]) => [name, value.replaceAll('&amp;', '&')]));
}

pageTest('the button copies a frame with what is shown', { ...clipboard, reducedMotion: 'reduce' }, async ({ page, open, origin, test }) => {
  await test('a run of the Scope', async () => {
    await show(page, open, 'limit=10&auto=off&at=5&paused&do=1:events*12');
    const { src, ...frame } = await copied(page);
    assert.deepEqual(frame, {
      width: '600', height: '320', loading: 'lazy', style: 'border: 0px; max-width: 100%;',
      title: 'Ratescope: an oscilloscope for rate limiters',
    });
    assert.equal(src, `${origin}/embed.html#${await recording(page)}`);
    const told = await page.textContent('#summary');
    await embed(page, open, src.slice(`${origin}/embed.html`.length));
    assert.equal(await page.textContent('#summary'), told);
    assert(told.endsWith(` ${await page.textContent('#caption')}`), told);
    assert.match(told, /10 allowed, 2 refused/);
  });

  await test('a scenario of Compare, as long as nobody changes it', async () => {
    await open('/compare.html');
    await started(page);
    await settle(page);
    const { src, title } = await copied(page);
    assert.equal(title, 'A burst at the window’s edge');
    assert(src.startsWith(`${origin}/embed.html?view=compare#limit=10/5s&`), src);
    const told = await page.textContent('#summary');
    const sentence = await page.textContent('.told');
    await embed(page, open, src.slice(`${origin}/embed.html`.length));
    assert.equal(await page.textContent('#summary'), told);
    assert.match(told, /^20 events\. 1, fixed-window: 20 allowed, 0 refused\./);
    assert.equal(await page.innerText('#story'), sentence);
    assert(await page.locator('#caption').isHidden());

    // Open leads to the scenario itself.
    await open(`/${await page.getAttribute('#open', 'href')}`);
    await started(page);
    await settle(page);
    assert.equal(await page.textContent('.told strong'), title);
    await page.locator('#graph').focus();
    await page.keyboard.press('Space');
    await page.clock.runFor(500);
    const changed = await copied(page);
    assert.equal(changed.title, 'Compare rate limiters on the same events: Ratescope');
    assert.match(changed.src, /\?view=compare#.*do=[\d.]+:/);
  });
});

pageTest('without a clipboard the frame is saved', async ({ page, open }) => {
  await page.addInitScript(() => { Object.defineProperty(navigator, 'clipboard', { value: undefined }); });
  await show(page, open, 'auto=off&at=5&paused');
  const download = page.waitForEvent('download');
  await share(page, '#copy-embed');
  const file = await download;
  assert.equal(file.suggestedFilename(), 'ratescope-scope.html');
  assert.match(readFileSync(await file.path(), 'utf8'), /^<iframe src="http[^"]*\/embed\.html#[^"]*&amp;[^"]*" width="600" height="320" /);
});

pageTest('a scenario is played, with its sentence', small, async ({ page, open }) => {
  await noteTexts(page);
  await open('/compare.html');
  await started(page);
  const hash = await page.getAttribute('.try a', 'href');
  await embed(page, open, `?view=compare${hash}`);
  assert.match(await page.textContent('#summary'), /^0 events/);
  await page.clock.runFor(7000);
  assert.equal(await page.textContent('#note'), 'paused');
  assert.match(await page.textContent('#summary'), /^20 events/);
  assert((await written(page)).includes('4.5\u202fs'), 'what the sentence names has a flag');
  await page.locator('#graph').focus();
  await page.keyboard.press('r');
  await page.clock.runFor(100);
  assert.equal(await page.textContent('#note'), '');
  // A hidden tab makes no harm.
  await hide(page, true);
  await page.clock.runFor(5000);
  await hide(page, false);
  await page.clock.runFor(100);
  assert.equal(await page.textContent('#note'), '');
});

pageTest('axe finds nothing, and nothing moves or is cut off', { ...small, reducedMotion: 'reduce' }, async ({ page, open }) => {
  await page.addInitScript(() => {
    globalThis.shifts = [];
    new PerformanceObserver((list) => globalThis.shifts.push(...list.getEntries().map(({ value }) => value))).observe({ type: 'layout-shift', buffered: true });
  });
  for (const link of ['', '#limit=10&auto=off&at=5&do=1:events*12', '?view=compare', `?view=compare#${three}`, '?view=compare#at=60&paused']) {
    for (const size of [{ width: 600, height: 320 }, { width: 320, height: 320 }]) {
      const where = `${link} at ${size.width}`;
      await resize(page, size);
      await open('/story.html');
      await embed(page, open, link);
      await page.clock.runFor(2000);
      assert.deepEqual(await page.evaluate(() => globalThis.shifts), [], where);
      const { wide, high, graph, caption } = await page.evaluate(() => {
        const { scrollWidth, scrollHeight } = document.documentElement;
        const { bottom } = document.querySelector('.caption').getBoundingClientRect();
        return { wide: scrollWidth, high: scrollHeight, graph: document.querySelector('.screen').clientHeight, caption: bottom };
      });
      assert.deepEqual([wide, high, caption], [size.width, 320, 320], where);
      assert(graph >= 176, `${where}: the graph has ${graph} pixels`);
      for (const colorScheme of ['light', 'dark']) {
        await prefer(page, { colorScheme });
        await assertClean(page, `${where}, ${colorScheme}`);
      }
    }
  }
});

pageTest('three lanes with their axis are in sight, eight scroll', { ...small, reducedMotion: 'reduce' }, async ({ page, open }) => {
  const scrolls = () => page.$eval('.screen', ({ scrollHeight, clientHeight }) => scrollHeight - clientHeight);
  await embed(page, open, `?view=compare#${three}`);
  assert.equal(await scrolls(), 0);
  assert.match(await page.textContent('#caption'), /^12 events\. 1, fixed-window: 10 allowed, 2 refused\. 2, sliding-log: 10 /);
  await open('/story.html');
  await embed(page, open, '?view=compare#at=60&paused');
  assert(await scrolls() > 300);
});

pageTest('the theme is that of the link or the system, never that of another visit', { colorScheme: 'light' }, async ({ page, open }) => {
  const isDark = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor !== 'rgb(246, 247, 249)');
  const opened = async (link) => {
    await open('/story.html');
    await page.evaluate(() => localStorage.setItem('theme', 'dark'));
    await embed(page, open, link);
    return isDark();
  };
  assert.equal(await opened(''), false);
  assert.equal(await opened('?theme=dark'), true);
  await prefer(page, { colorScheme: 'dark' });
  assert.equal(await opened(''), true);
  assert.equal(await opened('?view=compare&theme=light'), false);
  assert.equal(await opened('?theme=purple'), true);
});

pageTest('it loads little, and never the files of the other views', small, async ({ page, open, context }) => {
  const asked = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await embed(page, open, '#limit=10');
  await page.clock.runFor(5000);
  await until(page, () => document.querySelector('#caption').textContent);
  const own = ['/canvas.js', '/embed.css', '/embed.html', '/embed.js', '/fingers.js', '/index.html', '/keys.js', '/page.js',
    '/pkg/ratescope_page.js', '/pkg/ratescope_page_bg.wasm', '/story.js', '/style.css', '/theme.js', '/undo.js', '/watch.js'];
  assert.deepEqual(asked.filter((path) => path !== '/icon.svg').sort(), own);
  const weight = own.reduce((sum, path) => sum + gzipSync(readFileSync(`${root}www${path}`)).length, 0);
  assert(weight <= 315_000, `${weight} bytes are loaded, gzipped`);
  assert.deepEqual(await context.cookies(), []);
});
