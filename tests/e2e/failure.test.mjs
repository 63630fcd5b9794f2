// When something goes wrong inside, the page says so and can begin again.

import assert from 'node:assert/strict';
import { assertClean } from './clean.mjs';
import { rules, tall } from './compare.mjs';
import { pageTest } from './harness.mjs';
import { address, loaded, settle, show, type } from './scope.mjs';
import { trap } from './trap.mjs';
import { views } from './views.mjs';

// A link to each view, with a limit.
const own = {
  scope: { link: 'auto=off&at=5&limit=7', limit: '7' },
  compare: { link: 'auto=off&at=5&lanes=gcra;exim strict&limit=7/10s', limit: '7/10s' },
};

// Fails unless the message is shown, and the console has the trace once.
async function assertStopped(page, problems, { why, trace }) {
  await page.locator('#failed').waitFor();
  const text = await page.locator('#failed').innerText();
  assert.match(text, /The (scope|comparison) has stopped/);
  assert.match(text, why);
  assert.equal(await page.evaluate(() => document.activeElement.id), 'restart');
  assert(problems.some((problem) => trace.test(problem)), `no trace in ${problems}`);
  const said = problems.length;
  await page.clock.runFor(100);
  assert.equal(problems.length, said, 'it is said once');
}

// Fails unless the button starts the page again.
async function assertRestarts(page, { click, count }) {
  await page.locator('#restart').click();
  await loaded(page);
  await settle(page);
  await page.evaluate(() => scrollTo(0, 0)); // the browser keeps its place, which may be below the graph
  const before = await count(page);
  await click(page);
  assert(await count(page) > before);
}

pageTest('a canvas that fails', { allow: [/on purpose/] }, async ({ page, open, problems }) => {
  await show(page, open, 'auto=off&at=5');
  await type(page, 'decay', '33s');
  await address(page, 'decay=33s');
  await page.evaluate(() => {
    CanvasRenderingContext2D.prototype.stroke = () => { throw new Error('failed on purpose'); };
  });
  await page.locator('#limit').fill('8');
  await page.clock.runFor(50);
  await assertStopped(page, problems, { why: /failed on purpose/, trace: /failed on purpose\n\s+at / });
  await assertRestarts(page, views.scope);
  assert.equal(await page.inputValue('#decay'), '33s', 'the settings are kept');
});

pageTest('a trap in a step that ends later', { allow: [/unreachable/] }, async ({ page, open, problems }) => {
  await trap(page, 'ratescope_page_bg.wasm', 'page_recording');
  await show(page, open, 'auto=off&at=5');
  await page.locator('#copy').click();
  await assertStopped(page, problems, { why: /RuntimeError: unreachable/, trace: /RuntimeError: unreachable\n\s+at .*wasm/ });
});

for (const [name, view] of Object.entries(views)) {
  const { path, begin, click, count } = view;
  const { link, limit } = own[name];
  const module = 'ratescope_page_bg.wasm';
  pageTest(`a trap in WebAssembly on ${name}`, { ...tall, allow: [/unreachable/] }, async ({ page, open, problems }) => {
    await trap(page, module, 'page_step');
    await begin(page, open, link);
    await click(page);
    assert.equal(await count(page), 1, 'all else works');
    await page.locator('#step').click();
    await assertStopped(page, problems, { why: /RuntimeError: unreachable/, trace: /RuntimeError: unreachable\n\s+at .*wasm/ });
    await assertClean(page, 'with the message');
    // Further actions change nothing and cause no further message.
    const said = problems.length;
    await page.locator('#pause').click();
    await page.keyboard.press('Space');
    await page.clock.runFor(100);
    assert.equal(problems.length, said);
    await page.unroute(`**/${module}`);
    await assertRestarts(page, view);
    assert.equal(await page.inputValue('#limit'), limit, 'the settings are kept');
    if (name === 'compare') assert.deepEqual(await rules(page), ['gcra', 'exim strict']);
  });

  pageTest(`a file that does not load on ${name}`, { ...tall, allow: [/wasm|404|compile|Failed to (load|fetch)/i] }, async ({ page, open, problems }) => {
    for (const file of [module, 'page.js', 'pkg/ratescope_page.js', 'story.js']) {
      await page.route(`**/${file}`, (route) => route.fulfill({ status: 404, body: 'gone' }));
      const before = problems.length;
      await open(path);
      await page.locator('#failed').waitFor();
      const text = await page.locator('#failed').innerText();
      assert.match(text, /could not start/);
      assert.doesNotMatch(text, /has stopped/);
      assert(problems.length > before, file);
      await page.unroute(`**/${file}`);
      await assertRestarts(page, view);
    }
  });
}

pageTest('without scripts the page says what it needs', { javaScriptEnabled: false }, async ({ page, open }) => {
  await open();
  assert.match(await page.locator('noscript').innerText(), /needs JavaScript and WebAssembly/);
});
