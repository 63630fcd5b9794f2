// The run with which Compare opens, and the tools at hand on the pages: the keys, redo, the list of limiters, the
// picture.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { compare, counts, opened, quiet, rules, sent } from './compare.mjs';
import { pageTest } from './harness.mjs';
import { clipboard, press, settle, share, show, type, until, values } from './scope.mjs';

pageTest('Compare begins with an answer', async ({ page, open, test }) => {
  await test('three lanes play a burst at the window’s edge', async () => {
    await compare(page, open);
    assert.deepEqual(await rules(page), ['fixed-window', 'sliding-log', 'token-bucket']);
    assert.equal(await page.textContent('.told strong'), 'A burst at the window’s edge');
    await page.clock.runFor(7000);
    assert.deepEqual(await counts(page), [[20, 0], [10, 10], [12, 8]]);
    assert.equal(await page.textContent('#note'), 'paused');
  });

  await test('a click after the end lets time run on', async () => {
    await page.locator('#graph').click({ position: { x: 500, y: 60 } });
    await page.clock.runFor(2000);
    assert.equal(await sent(page), 21);
    assert.equal(await page.textContent('#pause'), 'Pause');
  });

  await test('a click where a link has stopped time does not', async () => {
    await compare(page, open, quiet);
    await page.locator('#graph').click({ position: { x: 500, y: 60 } });
    await page.clock.runFor(500);
    assert.equal(await page.textContent('#pause'), 'Run');
  });
});

pageTest('on the name of a lane a tap is an event, and the pencil opens the box', async ({ page, open }) => {
  await compare(page, open, quiet);
  const { x, y, width, height } = await page.locator('.lane .name').first().boundingBox();
  await page.mouse.click(x + width / 2, y + height / 2);
  await settle(page);
  assert.equal(await sent(page), 1);
  const box = await opened(page, 1);
  assert(await box.evaluate((it) => it === document.activeElement));
  await page.keyboard.press('Enter');
  assert(await box.isHidden());
});

pageTest('a change is made again', async ({ page, open }) => {
  await show(page, open, 'auto=off&at=5&paused');
  await type(page, 'limit', '7');
  await page.clock.runFor(1100);
  await page.locator('#graph').focus();
  for (const [keys, limit] of [['Control+z', '10'], ['Control+Shift+z', '7'], ['Control+Shift+z', '7'], ['Control+z', '10']]) {
    await page.keyboard.press(keys);
    await settle(page);
    assert.equal(await page.inputValue('#limit'), limit, keys);
  }
});

pageTest('the keys are shown by one of them', async ({ page, open }) => {
  await show(page, open, 'auto=off&at=5&paused');
  assert(await page.locator('#help').isHidden());
  await page.locator('#graph').focus();
  await page.keyboard.press('?');
  assert.match(await page.innerText('#help'), /Space an event/);
  await page.locator('#help').getByText('Close').click();
  assert(await page.locator('#help').isHidden());
  await page.locator('#decay').focus();
  await page.keyboard.press('?');
  assert(await page.locator('#help').isHidden(), 'in a box it is a letter');
});

pageTest('another limiter is chosen from a list, or written', async ({ page, open }) => {
  await show(page, open, 'auto=off&at=5&paused&do=1:events*12');
  await page.selectOption('#limiter-kind', 'token-bucket');
  await settle(page);
  assert.deepEqual(await values(page, 'allowed', 'refused'), [10, 2]);
  assert.equal(await page.inputValue('#limiter'), 'token-bucket');
  await page.selectOption('#limiter-kind', 'more');
  assert(await page.locator('#limiter').evaluate((it) => it === document.activeElement));
  await page.keyboard.type('token-bucket burst 3');
  await settle(page);
  assert.deepEqual(await values(page, 'allowed', 'refused'), [3, 9]);
  assert.equal(await page.inputValue('#limiter-kind'), 'token-bucket burst 3');
});

pageTest('blue sets the limit, and refuses what the sentence says', { reducedMotion: 'reduce' }, async ({ page, open }) => {
  await show(page, open, 'auto=off');
  await page.getByRole('link', { name: 'Let blue set the limit' }).click();
  await settle(page);
  assert.match(await page.textContent('.told'), /27 are refused/);
  assert.deepEqual(await values(page, 'allowed', 'refused'), [71, 27]);
});

pageTest('the picture is copied as PNG', clipboard, async ({ page, open }) => {
  await show(page, open, 'auto=off&at=5&paused&do=1:events*12');
  await share(page, '#copy-picture');
  await page.waitForFunction(() => document.querySelector('#copy-picture').textContent === 'Copied');
  const types = await page.evaluate(async () => (await navigator.clipboard.read()).flatMap((item) => item.types));
  assert.deepEqual(types, ['image/png']);
});

pageTest('ten seconds are recorded as a film', async ({ page, open }) => {
  await show(page, open, 'auto=off&at=5');
  const download = page.waitForEvent('download');
  await share(page, '#record');
  await until(page, () => document.querySelector('#record').disabled);
  for (let second = 0; second <= 10; second++) await page.clock.runFor(1000);
  const film = await download;
  assert.equal(film.suggestedFilename(), 'ratescope-scope.webm');
  const bytes = readFileSync(await film.path());
  assert.equal(bytes.subarray(0, 4).toString('hex'), '1a45dfa3', 'it begins as WebM does');
  assert(bytes.includes('V_VP') && bytes.length > 1000, `${bytes.length} bytes`);
  await until(page, () => !document.querySelector('#record').disabled);
});

pageTest('without a recorder there is no button for a film', async ({ page, open }) => {
  await page.addInitScript(() => { delete globalThis.MediaRecorder; });
  await show(page, open, 'auto=off');
  assert(await page.locator('#record').isHidden());
});

pageTest('sound is off at first, and then a tick an event and a thud a refusal', async ({ page, open }) => {
  await page.addInitScript(() => {
    globalThis.tones = [];
    const { start } = OscillatorNode.prototype;
    OscillatorNode.prototype.start = function () { globalThis.tones.push(this.frequency.value); start.call(this); };
  });
  const tones = () => page.evaluate(() => globalThis.tones.splice(0));
  await show(page, open, 'auto=off&limit=3&at=5');
  await page.locator('#graph').focus();
  await page.keyboard.press('Space');
  await settle(page);
  assert.deepEqual(await tones(), []);
  await page.keyboard.press('m');
  await until(page, () => document.querySelector('#sound').ariaPressed === 'true');
  for (const tone of [1500, 1500, 90]) {
    await page.keyboard.press('Space');
    await settle(page);
    assert.deepEqual(await tones(), [tone]);
  }
  await page.keyboard.press('r');
  await settle(page);
  assert.deepEqual(await tones(), [], 'another run');
  await page.keyboard.press('m');
  await until(page, () => document.querySelector('#sound').ariaPressed === 'false');
  await page.keyboard.press('Space');
  await settle(page);
  assert.deepEqual(await tones(), []);
});
