// When something goes wrong inside, the page says so and can begin again.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { axe, pageTest } from './harness.mjs';
import { root } from './launch.mjs';
import { click, events, settle, show, type } from './scope.mjs';

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
  await page.waitForFunction(() => document.querySelector('#rate').dataset.value !== undefined);
  await settle(page);
  assert(await page.locator('#failed').isHidden());
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

// The module with one of its functions doing nothing but to trap, as a panic does.
function trapping(wasm, name) {
  const bytes = Uint8Array.from(wasm);
  const leb = (at) => {
    for (let value = 0, shift = 0; ; shift += 7, at++) {
      value += (bytes[at] & 127) << shift;
      if (bytes[at] < 128) return [value, at + 1];
    }
  };
  const sections = {};
  for (let at = 8, id, size; at < bytes.length; at += size) {
    id = bytes[at];
    [size, at] = leb(at + 1);
    sections[id] = at;
  }
  // Imported functions (kind 0) have the first indices; then come those with code.
  const imports = WebAssembly.Module.imports(new WebAssembly.Module(wasm)).filter(({ kind }) => kind === 'function').length;
  let [count, at] = leb(sections[7]);
  let index;
  for (; count > 0; count--) {
    let length;
    [length, at] = leb(at);
    const exported = new TextDecoder().decode(bytes.slice(at, at + length));
    const kind = bytes[at + length];
    let item;
    [item, at] = leb(at + length + 1);
    if (exported === name && kind === 0) index = item - imports;
  }
  assert(index >= 0, `the module has no ${name}`);
  [, at] = leb(sections[10]);
  let [size, body] = leb(at);
  for (; index > 0; index--) [size, body] = leb(body + size);
  // Keep the size; no locals, then `unreachable` up to `end`.
  bytes.fill(0, body, body + size - 1);
  return Buffer.from(bytes);
}

pageTest('a trap in WebAssembly', { allow: [/unreachable/] }, async ({ page, open, problems }) => {
  const module = '**/scope_bg.wasm';
  await page.route(module, (route) => route.fulfill({
    body: trapping(readFileSync(`${root}www/pkg/scope_bg.wasm`), 'page_step'),
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

pageTest('a module that does not load', { allow: [/wasm|404|compile/i] }, async ({ page, open, problems }) => {
  const module = '**/scope_bg.wasm';
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
