// The page works under its policy, asks for its own files, and after that for nothing.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { pageTest } from './harness.mjs';
import { root } from './launch.mjs';
import { click, press, settle, show, type } from './scope.mjs';

const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
  + "img-src 'self' data:; connect-src 'self'; worker-src 'self'";
const html = readFileSync(`${root}www/index.html`, 'utf8');

pageTest('the policy is in the header and, for any other host, in the page', async ({ page, open }) => {
  const response = await open();
  const header = response.headers()['content-security-policy'];
  for (const rule of policy.split('; ')) assert(header.includes(rule), `${rule} in ${header}`);
  assert.equal(await page.getAttribute('meta[http-equiv="Content-Security-Policy"]', 'content'), policy);
});

pageTest('nothing is inline, and what is put inline does not run', { allow: [/Content Security Policy/] }, async ({ page, open }) => {
  assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:/i);
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

pageTest('what the page asks for and keeps', async ({ page, open, context, test }) => {
  await test('after load nothing is asked for', async () => {
    const asked = []; // the icon is left out: the browser asks for it when it likes
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (pathname !== '/icon.svg') asked.push(pathname);
    });
    await show(page, open, 'auto-rate=20');
    await settle(page);
    const files = ['/', '/fingers.js', '/page.js', '/pkg/ratescope.js', '/pkg/ratescope_bg.wasm', '/start.js', '/story.js', '/style.css', '/theme.js', '/watch.js'];
    assert.deepEqual([...new Set(asked)].sort(), files);
    assert.equal(asked.length, files.length, `some twice: ${asked}`);

    await click(page);
    await type(page, 'decay', '20s');
    await press(page, '#theme');
    await page.getByRole('link', { name: 'Steady, just below' }).click();
    await page.locator('#copy').click();
    await settle(page);
    assert.deepEqual(asked.slice(files.length), []);
  });

  await test('nothing is kept but the theme, and no cookie is set', async () => {
    await show(page, open, 'auto-rate=20');
    await click(page);
    await press(page, '#theme');
    assert.deepEqual(await page.evaluate(() => Object.keys(localStorage)), ['theme']);
    assert.deepEqual(await context.cookies(), []);
  });
});
