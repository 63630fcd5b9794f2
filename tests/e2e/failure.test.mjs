// When something goes wrong inside, the page says so and can begin again.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { axe, pageTest } from './harness.mjs';
import { root } from './launch.mjs';
import { click, events, loaded, settle, show, type } from './scope.mjs';
import { trapping } from './trap.mjs';

// The message is shown, the console has the trace, and the button brings the page back.
async function assertStopped(page, problems, { why, trace }) {
  await page.locator('#failed').waitFor();
  const text = await page.locator('#failed').innerText();
  assert.match(text, /The scope has stopped/);
  assert.match(text, why);
  assert.equal(await page.evaluate(() => document.activeElement.id), 'restart');
  assert(problems.some((problem) => trace.test(problem)), `no trace in ${problems}`);
  const said = problems.length;
  await page.evaluate(() => new Promise((done) => { setTimeout(done, 100); }));
  assert.equal(problems.length, said, 'it is said once');
}

async function assertRestarts(page) {
  await page.locator('#restart').click();
  await loaded(page);
  await settle(page);
  const before = await events(page);
  await click(page);
  assert(await events(page) > before);
}

pageTest('a canvas that fails', { allow: [/on purpose/] }, async ({ page, open, problems }) => {
  await show(page, open, 'auto=off&at=5');
  await type(page, 'decay', '33s');
  await page.waitForFunction(() => location.hash.includes('decay=33s'));
  await page.evaluate(() => {
    CanvasRenderingContext2D.prototype.stroke = () => { throw new Error('failed on purpose'); };
  });
  await assertStopped(page, problems, { why: /failed on purpose/, trace: /failed on purpose\n\s+at / });
  assert.deepEqual((await axe(page)).map(({ id }) => id), []);
  await assertRestarts(page);
  assert.equal(await page.inputValue('#decay'), '33s', 'the settings are kept');
});

pageTest('a trap in WebAssembly', { allow: [/unreachable/] }, async ({ page, open, problems }) => {
  const module = '**/ratescope_bg.wasm';
  await page.route(module, (route) => route.fulfill({
    body: trapping(readFileSync(`${root}www/pkg/ratescope_bg.wasm`), 'page_step'),
    contentType: 'application/wasm',
  }));
  await show(page, open, 'auto=off&at=5&limit=7');
  await click(page);
  assert.equal(await events(page), 1, 'all else works');
  await page.locator('#step').click();
  await assertStopped(page, problems, { why: /RuntimeError: unreachable/, trace: /RuntimeError: unreachable\n\s+at .*wasm/ });
  // What is done now changes nothing and says nothing more.
  await page.locator('#pause').click();
  await page.keyboard.press('Space');
  await page.unroute(module);
  await assertRestarts(page);
  assert.equal(await page.inputValue('#limit'), '7');
});

pageTest('a trap in a step that ends later', { allow: [/unreachable/] }, async ({ page, open, problems }) => {
  await page.route('**/ratescope_bg.wasm', (route) => route.fulfill({
    body: trapping(readFileSync(`${root}www/pkg/ratescope_bg.wasm`), 'page_recording'),
    contentType: 'application/wasm',
  }));
  await show(page, open, 'auto=off&at=5');
  await page.locator('#copy').click();
  await assertStopped(page, problems, { why: /RuntimeError: unreachable/, trace: /RuntimeError: unreachable\n\s+at .*wasm/ });
});

pageTest('a module that does not load', { allow: [/wasm|404|compile/i] }, async ({ page, open, problems }) => {
  const module = '**/ratescope_bg.wasm';
  await page.route(module, (route) => route.fulfill({ status: 404, body: 'gone' }));
  await open();
  await page.locator('#failed').waitFor();
  assert(problems.length > 0);
  await page.unroute(module);
  await assertRestarts(page);
});

pageTest('without scripts the page says what it needs', { javaScriptEnabled: false }, async ({ page, open }) => {
  await open();
  assert.match(await page.locator('noscript').innerText(), /needs JavaScript and WebAssembly/);
});
