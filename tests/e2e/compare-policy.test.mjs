// The comparison works under its policy, asks for its own files, and after that for nothing.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { pageTest } from './harness.mjs';
import { root } from './launch.mjs';
import { click, compare, lane, quiet } from './compare.mjs';
import { press, settle, type } from './scope.mjs';

const policyOf = (html) => html.match(/<meta http-equiv="Content-Security-Policy" content="([^"]*)">/)[1];
const [html, scope] = ['compare', 'index'].map((name) => readFileSync(`${root}www/${name}.html`, 'utf8'));

pageTest('its policy is the scope’s, in the header and in the page', async ({ page, open }) => {
  const response = await open('/compare.html');
  const policy = policyOf(html);
  assert.equal(policy, policyOf(scope));
  for (const rule of policy.split('; ')) assert(response.headers()['content-security-policy'].includes(rule), rule);
  assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:/i);
  assert.equal(await page.getAttribute('meta[http-equiv="Content-Security-Policy"]', 'content'), policy);
});

pageTest('after load nothing is asked for, and nothing is kept but the theme', async ({ page, open, context }) => {
  const asked = []; // the icon is left out: the browser asks for it when it likes
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname !== '/icon.svg') asked.push(pathname);
  });
  await compare(page, open, 'auto-rate=20');
  const files = ['/compare.css', '/compare.html', '/compare.js', '/fingers.js', '/page.js', '/pkg/ratescope.js', '/pkg/ratescope_bg.wasm', '/story.js', '/style.css', '/theme.js', '/watch.js'];
  assert.deepEqual([...new Set(asked)].sort(), files);
  assert.equal(asked.length, files.length, `some twice: ${asked}`);

  await click(page);
  await lane(page, 1).fill('gcra');
  await type(page, 'add', 'exim leaky');
  await press(page, '#add-lane');
  await type(page, 'limit', '20/1m');
  await press(page, '#theme');
  await page.locator('#scenarios a').first().click();
  await page.locator('#copy').click();
  await settle(page);
  assert.deepEqual(asked.slice(files.length), []);
  assert.deepEqual(await page.evaluate(() => Object.keys(localStorage)), ['theme']);
  assert.deepEqual(await context.cookies(), []);
});

pageTest('a rule is text, whatever is in it', async ({ page, open }) => {
  await compare(page, open, quiet);
  const markup = '<img src=x onerror="globalThis.ran=1">';
  await lane(page, 1).fill(markup);
  await type(page, 'add', markup);
  await press(page, '#add-lane');
  assert((await page.textContent('#add-error')).includes(markup));
  await page.evaluate((markup) => { location.hash = `lanes=${markup}`; }, markup);
  await page.waitForFunction(() => document.querySelector('#note').textContent.includes('<img'));
  assert.equal(await page.locator('main img').count(), 0);
  assert.equal(await page.evaluate(() => globalThis.ran), undefined);
});
