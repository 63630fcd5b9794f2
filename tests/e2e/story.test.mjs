// A scenario tells its story at the graph: its sentence is shown there, and it is played, on an axis with the
// run's own time and with flags at the instants that the sentence names.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { allowed, compare, quiet, rules, sent, tall } from './compare.mjs';
import { events, focused, loaded, noteTexts, settle, show, stopClock, written } from './scope.mjs';

const story = (page) => page.evaluate(() => ({
  seen: !document.querySelector('#story').hidden,
  name: document.querySelector('.told strong')?.textContent,
  text: document.querySelector('.told')?.lastChild.textContent.trim(),
}));
// The scenarios of Compare are a list, which has to be opened.
async function follow(page, name) {
  if (!await page.locator('.try a').first().isVisible()) await page.locator('#list').click();
  await page.getByRole('link', { name }).click();
}

pageTest('a scenario is played beside its sentence', tall, async ({ page, open, test }) => {
  await noteTexts(page);
  await test('from a little before what there is to see, and it pauses at its end', async () => {
    await compare(page, open, quiet);
    assert.equal((await story(page)).seen, false);
    await follow(page, 'A burst at the window’s edge');
    await page.clock.runFor(100);
    const { seen, name, text } = await story(page);
    assert(seen && name === 'A burst at the window’s edge' && text.startsWith('Ten requests at 4.5\u00a0s'), text);
    assert.equal(await page.textContent('#note'), '');
    assert.equal(await sent(page), 0, 'it begins before the burst');
    // It is played from 4.2 s to 8 s of the run in 6 s.
    await page.clock.runFor(3000);
    assert.equal(await sent(page), 20);
    assert.deepEqual(await allowed(page), [20, 10, 12]);
    await page.clock.runFor(4000);
    assert.equal(await page.textContent('#note'), 'paused');
    assert.equal(await page.textContent('#pause'), 'Run');
    const words = await written(page);
    assert(words.includes('at 8\u202fs'), words.join());
  });

  await test('what the sentence names has a flag, and ten in an instant are seen as ten', async () => {
    const words = await written(page);
    for (const word of ['4.5\u202fs', '5.5\u202fs', '2\u202fs', '6\u202fs']) assert(words.includes(word), `${word} in ${words}`);
    assert(!words.some((word) => word.startsWith('−')), 'the axis has the time of the run');
    assert(words.filter((word) => word === '10').length >= 6, 'counts beside the ticks');
  });

  await test('again, its end, the next one, and no more', async () => {
    await page.locator('#story-replay').click();
    await page.clock.runFor(100);
    assert.deepEqual([await sent(page), await page.textContent('#pause')], [0, 'Pause']);
    await page.locator('#story-end').click();
    await page.clock.runFor(100);
    assert.deepEqual([await sent(page), await page.textContent('#note')], [20, 'paused']);
    await page.locator('#story-after').click();
    await page.clock.runFor(100);
    assert.equal((await story(page)).name, 'All eight, at random');
    assert.equal((await rules(page)).length, 8);
    await page.locator('#story-before').click();
    await page.clock.runFor(100);
    assert.equal((await story(page)).name, 'A burst at the window’s edge');
    await page.locator('#story-close').click();
    await page.clock.runFor(100);
    assert.equal((await story(page)).seen, false);
  });

  await test('a reset plays it again, whatever was changed', async () => {
    await follow(page, 'The relentless abuser');
    await page.clock.runFor(4000);
    await page.locator('#limit').fill('3/10s');
    await page.locator('#reset').click();
    await page.clock.runFor(100);
    assert.deepEqual([await page.inputValue('#limit'), await page.textContent('#pause')], ['10/10s', 'Pause']);
    assert(await sent(page) < 5);
  });
});

pageTest('a scenario is closed by Escape, and the list has the focus again', async ({ page, open }) => {
  await compare(page, open, quiet);
  for (const close of [() => page.keyboard.press('Escape'), () => page.locator('#story-close').click()]) {
    await follow(page, 'Expensive requests');
    await settle(page);
    await page.locator('#story-replay').focus();
    await close();
    assert.equal((await story(page)).seen, false);
    assert.equal(await focused(page), 'list');
  }
});

pageTest('to close a scenario is to return to the run before it, in one step of undo', async ({ page, open }) => {
  const state = async () => {
    await settle(page);
    const run = [await page.inputValue('#limit'), await page.inputValue('#window'), await events(page)];
    return [...run, (await story(page)).seen, await page.locator('#undo').isEnabled()];
  };
  await show(page, open, 'auto=off&limit=7&window=30s&at=5&do=1:events*3&paused');
  const before = [...(await state()).slice(0, 4), false];
  assert.deepEqual(before, ['7', '30s', 3, false, false]);
  // From one scenario to the next it is still that run.
  for (const name of ['Stop, and watch it decay', 'Strict against leaky']) await follow(page, name);
  assert.deepEqual((await state()).slice(3), [true, true]);
  assert.match(await page.textContent('#story-said'), /^Strict against leaky\. A sender at twice/);
  await page.locator('#limit').fill('9');
  await settle(page);
  assert.equal(await page.textContent('#story-said'), 'Strict against leaky, but changed since.');
  await page.locator('#story-close').click();
  assert.deepEqual(await state(), before);
  assert.equal(await focused(page), 'Strict against leaky');

  await follow(page, 'A burst of ten');
  await settle(page);
  await page.locator('#graph').focus();
  await page.keyboard.press('Control+z');
  assert.deepEqual(await state(), before);
  // A redo brings the scenario back, as often as it is left.
  for (let i = 0; i < 2; i++) {
    await page.keyboard.press('Control+Shift+z');
    assert.deepEqual([(await state())[3], (await story(page)).name], [true, 'A burst of ten']);
    await page.keyboard.press('Control+z');
    assert.deepEqual(await state(), before);
  }
  // After another change there is nothing to redo.
  await page.locator('#limit').fill('8');
  await page.locator('#graph').focus();
  await page.keyboard.press('Control+Shift+z');
  assert.deepEqual((await state()).slice(0, 4), ['8', '30s', 3, false]);
});

pageTest('no chip moves the picture', async ({ page, open }) => {
  await stopClock(page);
  const top = () => page.$eval('#graph', (graph) => graph.getBoundingClientRect().top + scrollY);
  for (const [width, height] of [[360, 640], [390, 844], [820, 1180], [844, 390], [1280, 800], [1920, 1080]]) {
    await page.setViewportSize({ width, height });
    await page.goto('about:blank');
    await open('/index.html');
    await loaded(page);
    const tops = [await top()];
    for (const step of [...await page.locator('.try a').all(), page.locator('#story-close')]) {
      await step.click();
      await settle(page);
      tops.push(await top());
    }
    assert.equal(new Set(tops).size, 1, `at ${width}: ${tops}`);
  }
});

pageTest('another link has no story', async ({ page, open }) => {
  await compare(page, open, quiet);
  await follow(page, 'Expensive requests');
  await settle(page);
  assert((await story(page)).seen);
  await compare(page, open, quiet);
  assert.equal((await story(page)).seen, false);
});

pageTest('with reduced motion the end is shown, and played when asked', { reducedMotion: 'reduce' }, async ({ page, open }) => {
  await compare(page, open, quiet);
  await follow(page, 'Token bucket against');
  await settle(page);
  assert.deepEqual([await sent(page), await page.textContent('#note')], [49, 'paused']);
  await page.locator('#story-replay').click();
  await settle(page);
  assert(await sent(page) < 49);
});

pageTest('on the scope, too', async ({ page, open, test }) => {
  await noteTexts(page);
  await test('a story that asks for clicks goes on', async () => {
    await show(page, open, 'auto=off&at=5&paused');
    await follow(page, 'Steady, just below');
    await page.clock.runFor(16_000);
    assert.equal(await page.textContent('#note'), '');
    assert(await events(page) >= 37);
    await page.clock.runFor(3000);
    assert(await events(page) >= 39);
  });

  await test('one that ends stands still, with its flags', async () => {
    await show(page, open, 'auto=off&at=5&paused');
    await follow(page, 'Stop, and watch it decay');
    await page.locator('#story-end').click();
    await page.clock.runFor(100);
    const words = await written(page);
    for (const word of ['15\u202fs', '25\u202fs', '35\u202fs', 'at 45\u202fs']) assert(words.includes(word), `${word} in ${words}`);
    assert.equal(await page.textContent('#note'), 'paused');
  });
});

pageTest('a story that was sent is told', async ({ page, open, origin }) => {
  await compare(page, open, quiet);
  const href = await page.locator('.try a', { hasText: 'The repentant abuser' }).getAttribute('href');
  await page.goto('about:blank');
  await page.goto(`${origin}/compare.html${href}`);
  await page.waitForFunction(() => document.querySelector('.told strong')?.textContent === 'The repentant abuser');
});

// The visible part of the sentence.
const sentence = (page) => page.evaluate(() => {
  const [text, changed] = ['.told', '#story-changed'].map((it) => document.querySelector(it));
  return { seen: text.checkVisibility({ checkVisibilityCSS: true }), changed: changed.textContent };
});

pageTest('a sentence goes once the viewer has changed the run, and returns with an undo', async ({ page, open }) => {
  await compare(page, open, quiet);
  await follow(page, 'The relentless abuser');
  await settle(page);
  const before = await sentence(page);
  assert.deepEqual([before.seen, before.changed], [true, '']);
  await page.locator('#window').selectOption('5m');
  await settle(page);
  assert.deepEqual(await sentence(page), before, 'it is another look at the same');
  await page.locator('.lane .pencil').first().click();
  await page.locator('.lane input').first().fill('leaky-bucket');
  await settle(page);
  assert.deepEqual(await sentence(page), { ...before, seen: false, changed: 'The relentless abuser, but changed since.' });
  await page.locator('#undo').click();
  await settle(page);
  assert.deepEqual(await sentence(page), before);
});

pageTest('a change that a scenario makes itself is not the viewer’s', async ({ page, open }) => {
  await show(page, open, 'auto=off');
  await follow(page, 'Strict against leaky');
  await page.clock.runFor(20_000); // it has changed the mode itself
  assert.equal(await page.inputValue('#mode'), 'strict');
  assert.equal((await sentence(page)).seen, true);
  await page.locator('#limit').fill('7');
  await settle(page);
  assert.deepEqual([(await sentence(page)).seen, (await sentence(page)).changed], [false, 'Strict against leaky, but changed since.']);
  await page.locator('#story-replay').click();
  await settle(page);
  assert.equal((await sentence(page)).seen, true);
});
