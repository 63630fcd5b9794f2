// The site as a browser sees it, and the harness itself.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { pageTest } from './harness.mjs';
import { root, startServer } from './launch.mjs';

// A script that the browser shows as text: a page of the site on which nothing happens. It names no icon, so
// the browser looks for one.
const somewhere = '/pkg/ratescope_page.js';
const icon = /favicon\.ico/;

pageTest('the policy lets the module run, on a fine clock', { allow: [icon] }, async ({ page, open }) => {
  const response = await open(somewhere);
  assert.match(response.headers()['content-security-policy'], /default-src 'none'/);
  const isolated = await page.evaluate(async (glue) => {
    await (await import(glue)).default();
    return globalThis.crossOriginIsolated;
  }, somewhere);
  assert.equal(isolated, true);
});

const options = {
  viewport: { width: 360, height: 640 },
  deviceScaleFactor: 2,
  colorScheme: 'dark',
  reducedMotion: 'reduce',
  allow: [icon],
};
pageTest('options reach the browser', options, async ({ page, open }) => {
  await open(somewhere);
  const seen = await page.evaluate(() => [
    innerWidth,
    devicePixelRatio,
    matchMedia('(prefers-color-scheme: dark)').matches,
    matchMedia('(prefers-reduced-motion: reduce)').matches,
  ]);
  assert.deepEqual(seen, [360, 2, true, true]);
});

// Another origin, at which nothing listens.
const elsewhere = 'http://127.0.0.2:9/';
const expected = [icon, /on purpose/, /127\.0\.0\.2/];

pageTest('problems are noticed', { allow: expected }, async ({ page, open, problems }) => {
  await open(somewhere);
  const thrown = page.waitForEvent('pageerror');
  await page.evaluate(() => {
    console.warn('said on purpose');
    setTimeout(() => {
      throw new Error('thrown on purpose');
    });
  });
  await thrown;
  await page.evaluate((url) => fetch(url).catch(() => {}), elsewhere);
  await page.goto(elsewhere).catch(() => {});
  for (const problem of [
    /^console warning: said on purpose/,
    /^uncaught: Error: thrown on purpose/,
    /^console error: .*127\.0\.0\.2.*Content Security Policy/,
    /^request to another origin: .*127\.0\.0\.2/,
  ]) {
    assert(problems.some((text) => problem.test(text)), `${problem} in ${problems.join('\n')}`);
  }
});

pageTest('the page is in the program, from wherever it is run', async () => {
  const { origin, close } = await startServer([], tmpdir());
  try {
    const files = readdirSync(`${root}www`, { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile())
      .map(({ parentPath, name }) => `${parentPath}/${name}`.slice(`${root}www/`.length));
    assert(files.includes('pkg/ratescope_page_bg.wasm'));
    for (const file of files) {
      const response = await fetch(`${origin}/${file}`, { headers: { 'accept-encoding': 'br' } });
      assert.equal(response.status, 200, file);
      assert(Buffer.from(await response.arrayBuffer()).equals(readFileSync(`${root}www/${file}`)), file);
      assert.equal(response.headers.get('content-encoding'), files.includes(`${file}.br`) ? 'br' : null, file);
    }
    const index = await fetch(`${origin}/`);
    assert.equal(await index.text(), readFileSync(`${root}www/index.html`, 'utf8'));
    assert.equal(index.headers.get('content-type'), 'text/html');

    // A browser that has the page already gets no second copy.
    const again = await fetch(`${origin}/`, { headers: { 'if-none-match': index.headers.get('etag') } });
    assert.equal(again.status, 304);
    assert.equal(await again.text(), '');
    for (const [path, init] of [['/nowhere'], ['/pkg/'], ['/%2e%2e/Cargo.toml'], ['/', { method: 'POST' }]]) {
      assert.equal((await fetch(origin + path, init)).status, 404, path);
    }
  } finally {
    await close();
  }
});
