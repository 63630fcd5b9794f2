// When something goes wrong inside, the comparison says so and can begin again.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { axe, pageTest } from './harness.mjs';
import { root } from './launch.mjs';
import { click, compare, rules, sent, tall } from './compare.mjs';
import { loaded, settle } from './scope.mjs';
import { trapping } from './trap.mjs';

pageTest('a trap in WebAssembly', { ...tall, allow: [/unreachable/] }, async ({ page, open, problems }) => {
  const module = '**/ratescope_bg.wasm';
  await page.route(module, (route) => route.fulfill({
    body: trapping(readFileSync(`${root}www/pkg/ratescope_bg.wasm`), 'page_step'),
    contentType: 'application/wasm',
  }));
  await compare(page, open, 'auto=off&at=5&lanes=gcra;exim strict&limit=7/10s');
  await click(page);
  assert.equal(await sent(page), 1, 'all else works');
  await page.locator('#step').click();
  await page.locator('#failed').waitFor();
  const text = await page.locator('#failed').innerText();
  assert.match(text, /The comparison has stopped[^]*RuntimeError: unreachable/);
  assert.equal(await page.evaluate(() => document.activeElement.id), 'restart');
  assert(problems.some((problem) => /RuntimeError: unreachable\n\s+at .*wasm/.test(problem)), `no trace in ${problems}`);
  assert.deepEqual((await axe(page)).map(({ id }) => id), []);
  // What is done now changes nothing and says nothing more.
  const said = problems.length;
  await page.locator('#pause').click();
  await page.keyboard.press('Space');
  await page.evaluate(() => new Promise((done) => { setTimeout(done, 100); }));
  assert.equal(problems.length, said, 'it is said once');

  await page.unroute(module);
  await page.locator('#restart').click();
  await loaded(page);
  await settle(page);
  assert.deepEqual(await rules(page), ['gcra', 'exim strict']);
  assert.equal(await page.inputValue('#limit'), '7/10s', 'the settings are kept');
  const before = await sent(page);
  await click(page);
  assert.equal(await sent(page), before + 1);
});

pageTest('a module that does not load', { allow: [/wasm|404|compile/i] }, async ({ page, open, problems }) => {
  const module = '**/ratescope_bg.wasm';
  await page.route(module, (route) => route.fulfill({ status: 404, body: 'gone' }));
  await open('/compare.html');
  await page.locator('#failed').waitFor();
  assert(problems.length > 0);
  await page.unroute(module);
  await page.locator('#restart').click();
  await loaded(page);
});
