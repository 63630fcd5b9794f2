// The prediction of how much the limit lets through: it follows the settings. tests/outlook.rs compares it with
// runs.

import assert from 'node:assert/strict';
import { assertSteady } from './clean.mjs';
import { pageTest } from './harness.mjs';
import {
  clipboard, noteTexts, picture, press, recording, settle, show, type, value, written,
} from './scope.mjs';

const over = 'pattern=steady&auto-rate=2&limit=10';

// The three sentences, with plain spaces.
const said = async (page) => {
  const texts = await page.$$eval('.outlook p', (all) => all.map((p) => p.textContent));
  return texts.map((text) => text.replaceAll('\u202f', ' '));
};

const numbers = (page, ...ids) =>
  page.evaluate((ids) => ids.map((id) => document.getElementById(`m-${id}`).textContent), ids);

pageTest('what the limit lets through', { ...clipboard, reducedMotion: 'reduce' }, async ({ page, open, test }) => {
  await noteTexts(page);
  await test('it is said in words and in numbers', async () => {
    await show(page, open, `${over}&at=5&paused`);
    assert.deepEqual(await said(page), [
      'At once: 10 events.',
      'At an even 2 a second: 13, then one each 1.0 s at best (leaky) or none (strict).',
      'After that, free again in at most 1.0 s (leaky) or 7.7 s (strict).',
    ]);
    const back = 10 * Math.log(20 / 10);
    assert.deepEqual(
      await numbers(page, 'second', 'decay', 'steady', 'begun', 'over', 'events', 'back', 'pace'),
      ['2.00', '10.0', '20.0', '19.0', '10.0', '13', back.toFixed(2), '1.00'],
    );
    assert.equal(await value(page, 'm-events'), Math.ceil(20 * Math.log(19 / 10)));
  });

  await test('it turns with the knobs', async () => {
    await press(page, '[data-step=limit][data-by="1"]');
    const limit = Number(await page.inputValue('#limit'));
    assert.equal((await said(page))[0], `At once: ${limit} events.`);
    await type(page, 'limit', '2.5');
    assert.equal((await said(page))[0], 'At once: 2 events.');
    await type(page, 'limit', '10');
    await type(page, 'decay', '20s');
    assert.match((await said(page))[1], /^At an even 2 a second: 11, then one each 2\.0 s at best/);
    await type(page, 'auto-rate', '0.4');
    assert.deepEqual((await said(page)).slice(1), [
      'At an even 0.4 a second: all; the rate settles at 8.00.', 'Nothing has to wait.',
    ]);
    // A sentence is shown in place of formulas without numbers.
    assert.match(await page.innerText('#m-free'), /Even events at this rate all pass/);
    assert(await page.locator('#math-outlook-now').isHidden());
    await type(page, 'limit', '0');
    assert.equal((await said(page))[0], 'At once: all events.');
    await type(page, 'limit', '1');
    assert.deepEqual(await said(page), [
      'At once: none.', 'At an even 0.4 a second: none.', 'Nothing ever passes: a single event already measures 1.',
    ]);
    assert.deepEqual(await numbers(page, 'back', 'again', 'pace'), ['–', '–', '–']);
  });

  await test('its ghost is drawn on demand, and is in the link', async () => {
    await show(page, open, `${over}&at=30&paused`);
    await page.mouse.move(5, 5);
    await settle(page);
    const before = await picture(page);
    assert(!(await written(page)).includes('at once'));
    await page.locator('#ghost').check();
    await settle(page);
    assert(await picture(page) !== before, 'no ghost is seen');
    for (const name of ['at once', 'even']) assert((await written(page)).includes(name), name);
    assert.match(await recording(page), /&ghost=on/);
    await page.locator('#ghost').uncheck();
    await settle(page);
    assert(await picture(page) === before, 'the ghost stays');
  });

  await test('nothing moves when its words do, and axe is content', async () => {
    await assertSteady(page, open, '.outlook', [over, 'limit=1', 'limit=0', 'auto-rate=0.5']);
  });
});
