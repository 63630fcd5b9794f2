// A link reproduces the picture; the address follows the settings.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { click, clipboard, crisp, events, picture, press, recording, reload, settle, show, showStopped, step, type, value, values } from './scope.mjs';

const readouts = ['rate', 'smoothed', 'allowed', 'refused', 'again', 'verdict'];
const hash = (page) => page.evaluate(() => decodeURIComponent(location.hash));
const address = (page, part) => page.waitForFunction((part) => decodeURIComponent(location.hash).includes(part), part);

// At an imitated pixel ratio, letters come out in one of two ways, depending on when a page hears
// of it; so this is at 1.
const copying = { ...crisp, deviceScaleFactor: 1, ...clipboard };

pageTest('the copied link reproduces the picture', copying, async ({ page, context, origin, open }) => {
  await show(page, open, 'auto-rate=4&seed=9&limit=10&at=2&paused');
  await page.locator('#pattern').selectOption('bursts');
  await step(page, 50);
  await type(page, 'decay', '7s');
  await type(page, 'limit', '12.5');
  await page.locator('#mode').selectOption('leaky');
  for (let i = 0; i < 4; i++) await click(page);
  await step(page, 31);
  await type(page, 'increase', '3s');
  await page.locator('#auto').uncheck();
  await step(page, 12);
  await click(page);
  await page.locator('#window').selectOption('30s');
  await page.locator('#exact').check();
  await step(page, 2);
  const link = await recording(page);
  await page.mouse.move(5, 5);
  await page.locator('#exact').blur();
  await settle(page);
  const [seen, picture1] = [await values(page, ...readouts), await picture(page)];

  const other = await context.newPage();
  await show(other, (path) => other.goto(origin + path), link);
  assert.deepEqual(await values(other, ...readouts), seen);
  assert(await picture(other) === picture1, 'the pictures differ');
  assert.equal(await other.textContent('#note'), 'paused');
  for (const id of ['decay', 'increase', 'limit', 'mode', 'pattern', 'auto-rate', 'seed', 'window', 'speed']) {
    assert.equal(await other.inputValue(`#${id}`), await page.inputValue(`#${id}`), id);
  }
  // And its own link is the same one.
  assert.equal(await recording(other), link);
});

pageTest('links', async ({ page, open, test }) => {
  await test('the address follows the settings, and a reload keeps them', async () => {
    await show(page, open, 'auto=off&paused');
    await type(page, 'decay', '25s');
    await address(page, 'decay=25s');
    await page.locator('#mode').selectOption('leaky');
    await page.locator('#auto-rate-slider').fill('2');
    await address(page, 'mode=leaky&auto=off&pattern=poisson&auto-rate=100&');
    await reload(page);
    assert.deepEqual([await page.inputValue('#decay'), await page.inputValue('#mode')], ['25s', 'leaky']);
    assert.equal(await page.evaluate(() => history.length), 2, 'settings make no history');
  });

  await test('the address of a recording stays until something is changed', async () => {
    const link = 'auto=off&at=5&paused&do=1:events*3';
    await show(page, open, link);
    const rate = await value(page, 'rate');
    await page.waitForTimeout(400); // longer than the address waits
    assert.equal(await hash(page), `#${link}`);
    await reload(page);
    assert.deepEqual([await value(page, 'rate'), await events(page)], [rate, 3]);
  });

  await test('another fragment loads at once', async () => {
    await show(page, open, 'auto=off&paused&at=5');
    await page.evaluate(() => { location.hash = '#auto=off&at=7&paused&limit=4&do=2:events*6'; });
    await page.waitForFunction(() => document.querySelector('#limit').value === '4');
    await settle(page);
    assert.deepEqual(await values(page, 'allowed', 'refused'), [4, 2]);
    await page.goBack();
    await page.waitForFunction(() => document.querySelector('#limit').value === '10');
  });

  await test('a wrong fragment while it runs leaves the run alone', async () => {
    await show(page, open, 'auto=off&paused&at=5&do=1:events*3');
    await page.evaluate(() => { location.hash = '#decay=soon'; });
    await page.waitForFunction(() => document.querySelector('#note').textContent.includes('soon'));
    assert.equal(await events(page), 3);
    await press(page, '#reset');
    assert.equal(await page.textContent('#note'), 'paused');
  });

  await test('without a clipboard the link is in the address', async () => {
    await page.evaluate(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error('no permission'));
    });
    await show(page, open, 'auto=off&paused&at=5');
    await click(page);
    await page.locator('#copy').click();
    await page.getByText('It is in the address').waitFor();
    await page.waitForTimeout(400); // longer than the address waits
    assert.match(await hash(page), /&at=5&paused&do=5:events\*1$/);
    assert.equal(await events(page), 1);
  });
});

pageTest('a link that can not replay says so', clipboard, async ({ page, open }) => {
  await show(page, open, 'auto=off&paused&at=5');
  await click(page);
  assert.match(await recording(page), /do=5:events\*1$/);
  assert.equal(await page.textContent('#note'), 'paused');
  // As many commands as a link holds, and one more.
  await show(page, open, `auto=off&paused&at=5&limit=7&do=${Array(10_000).fill('9:events').join()}`);
  await click(page);
  assert.match(await recording(page), /^decay=10s&increase=1m&limit=7&(?!.*(do|at)=)/);
  await settle(page);
  assert.match(await page.textContent('#note'), /settings only/);
  await click(page);
  assert.equal(await page.textContent('#note'), 'paused', 'until something is done');
});

pageTest('a try-it link can be followed again and again', async ({ page, open }) => {
  await showStopped(page, open, 'auto=off');
  for (let i = 0; i < 3; i++) {
    await page.getByRole('link', { name: 'A burst of ten' }).click();
    await page.clock.runFor(50);
    assert.equal(await events(page), 0);
    await page.clock.runFor(1100);
    assert.equal(await events(page), 10);
  }
});

pageTest('a wrong link says what is wrong, and the page works', async ({ page, open }) => {
  const wrong = [
    ['decay=10x', '"x" in "decay=10x": not a unit'],
    ['evnts=3', '"evnts" in "evnts=3": not part of a link'],
    ['limit=10&do=5:events,1:events', 'a time before zero or before the one before it'],
    ['limit=%zz', '"%zz" in "limit=%zz": not a number'],
  ];
  for (const [i, [link, problem]] of wrong.entries()) {
    if (i === 3) await page.goto('about:blank'); // the first and the last are there on load
    await show(page, open, link);
    const note = await page.textContent('#note');
    assert(note.includes(problem), note);
    const before = await events(page);
    await click(page);
    assert(await events(page) > before);
    await page.waitForFunction(() => document.querySelector('#smoothed').dataset.value > 0);
    assert(await page.locator('#failed').isHidden());
  }
  // A right one is shown, and the message is gone.
  await show(page, open, 'auto=off&paused&at=5&do=1:events');
  assert.deepEqual([await page.textContent('#note'), await events(page)], ['paused', 1]);
});
