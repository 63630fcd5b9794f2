// The page works under its Content-Security-Policy, asks for its own files, and after that for nothing.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { click as clickLanes, compare, opened, quiet, scenario } from './compare.mjs';
import { pageTest } from './harness.mjs';
import { root } from './launch.mjs';
import { click, press, settle, show, type } from './scope.mjs';
import { sampled } from './tune.mjs';

const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
  + "img-src 'self' data:; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'";

for (const [path, file] of [['/', 'index'], ['/compare.html', 'compare'], ['/tune.html', 'tune'], ['/story.html', 'story'], ['/embed.html', 'embed']]) {
  pageTest(`the policy of ${path} is in the header and, for any other host, in the page`, async ({ page, open }) => {
    const response = await open(path);
    const header = response.headers()['content-security-policy'];
    for (const rule of policy.split('; ')) assert(header.includes(rule), `${rule} in ${header}`);
    assert.equal(await page.getAttribute('meta[http-equiv="Content-Security-Policy"]', 'content'), policy);
    const html = readFileSync(`${root}www/${file}.html`, 'utf8');
    assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:/i);
  });
}

pageTest('what is put inline does not run', { allow: [/Content Security Policy/] }, async ({ page, open }) => {
  await show(page, open, 'auto=off&at=5&paused');
  const blocked = await page.evaluate(() => new Promise((done) => {
    const blocked = new Set();
    document.addEventListener('securitypolicyviolation', (event) => {
      blocked.add(event.effectiveDirective);
      if (blocked.size === 2) done([...blocked].sort());
    });
    const script = document.createElement('script');
    script.textContent = 'globalThis.ran = true';
    const style = document.createElement('style');
    style.textContent = 'body { display: none }';
    document.body.append(script, style);
  }));
  assert.deepEqual(blocked, ['script-src-elem', 'style-src-elem']);
  assert.equal(await page.evaluate(() => globalThis.ran), undefined);
});

const shared = ['/canvas.js', '/fingers.js', '/keys.js', '/page.js', '/story.js', '/style.css', '/theme.js', '/undo.js', '/watch.js'];

// The bytes of files, each gzipped.
const weigh = (paths) => paths
  .map((path) => gzipSync(readFileSync(`${root}www${path === '/' ? '/index.html' : path}`)).length)
  .reduce((sum, length) => sum + length, 0);

// The most that a view may load, in bytes, gzipped; and Tune with its Worker.
const MOST = 325_000;
const MOST_OF_TUNE = 605_000;

// The files that each view asks for, and actions on it.
const views = {
  scope: {
    begin: show,
    files: ['/', '/game.js', '/pkg/ratescope_page.js', '/pkg/ratescope_page_bg.wasm', '/start.js'],
    async use(page) {
      await click(page);
      await type(page, 'decay', '20s');
      await page.getByRole('link', { name: 'Steady, just below' }).click();
    },
  },
  compare: {
    begin: compare,
    files: ['/clients.js', '/compare.css', '/compare.html', '/compare.js', '/pkg/ratescope_page.js', '/pkg/ratescope_page_bg.wasm'],
    async use(page) {
      await clickLanes(page);
      await (await opened(page, 1)).fill('gcra');
      await type(page, 'add', 'exim leaky');
      await press(page, '#add-lane');
      await type(page, 'limit', '20/1m');
      await scenario(page, 'A burst at the window’s edge');
    },
  },
};

for (const [view, { begin, files, use }] of Object.entries(views)) {
  pageTest(`after load ${view} asks for nothing, and keeps nothing but the theme`, async ({ page, open, context }) => {
    const asked = []; // without the icon, for which the browser asks when it likes
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (pathname !== '/icon.svg') asked.push(pathname);
    });
    await begin(page, open, 'auto-rate=20');
    assert.deepEqual(asked.sort(), [...shared, ...files].sort());
    const weight = weigh([...asked, '/icon.svg']);
    assert(weight <= MOST, `${weight} bytes are loaded, gzipped`);
    const before = asked.length;
    await use(page);
    await press(page, '#theme');
    await page.locator('#copy').click();
    await settle(page);
    assert.deepEqual(asked.slice(before), []);
    assert.deepEqual(await page.evaluate(() => Object.keys(localStorage)), ['theme']);
    assert.deepEqual(await context.cookies(), []);
  });
}

pageTest('Tune loads one module, for its page and its Worker', async ({ page, open }) => {
  const asked = new Set();
  page.on('request', (request) => asked.add(new URL(request.url()).pathname));
  await sampled(page, open);
  assert.deepEqual([...asked].filter((path) => path.endsWith('.wasm')), ['/pkg/ratescope_tune_bg.wasm']);
  const weight = weigh([...asked].filter((path) => !path.endsWith('/offline.js')));
  assert(weight <= MOST_OF_TUNE, `${weight} bytes are loaded, gzipped`);
});

pageTest('a rule is text, whatever is in it', async ({ page, open }) => {
  await compare(page, open, quiet);
  const markup = '<img src=x onerror="globalThis.ran=1">';
  await (await opened(page, 1)).fill(markup);
  await type(page, 'add', markup);
  await press(page, '#add-lane');
  assert((await page.textContent('#add-error')).includes(markup));
  await page.evaluate((markup) => { location.hash = `lanes=${markup}`; }, markup);
  await settle(page);
  assert.match(await page.textContent('#note'), /<img/);
  assert.equal(await page.locator('main img').count(), 0);
  assert.equal(await page.evaluate(() => globalThis.ran), undefined);
});
