// The limit: set in every way, strict and leaky, and when the next event passes.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { fingers } from './pointer.mjs';
import {
  click, clipboard, column, crisp, events, exim, inks, limitLine, noteTexts, plot, press, recording, rest, settle, show, step,
  type, value, values, written,
} from './scope.mjs';

const quiet = 'auto=off&limit=10&at=5&paused';

pageTest('the limit, and what it decides', async ({ page, open, test }) => {
  await test('the limit is typed, stepped or moved by a key', async () => {
    await show(page, open, quiet);
    const limit = () => page.inputValue('#limit');
    await type(page, 'limit', '3.5');
    for (let i = 0; i < 4; i++) await click(page);
    assert.deepEqual(await values(page, 'allowed', 'refused'), [3, 1]);
    for (const [by, value] of [['1', '4'], ['1', '5'], ['-1', '4']]) {
      await press(page, `[data-step=limit][data-by="${by}"]`);
      assert.equal(await limit(), value);
    }
    await type(page, 'limit', '9.6');
    await press(page, '[data-step=limit][data-by="-1"]');
    assert.equal(await limit(), '9');
    await type(page, 'limit', '4');
    await page.locator('#graph').focus();
    for (const [key, value] of [['ArrowUp', '5'], ['ArrowUp', '6'], ['ArrowDown', '5']]) {
      await page.keyboard.press(key);
      assert.equal(await limit(), value);
    }
    assert.equal(await events(page), 4);
  });

  await test('a limit of 0 refuses nothing', async () => {
    await show(page, open, 'auto=off&limit=0&at=5&paused&do=1:events*500');
    assert.deepEqual(await values(page, 'allowed', 'refused', 'again'), [500, 0, 0]);
    assert.equal(await page.textContent('#again'), 'now');
    assert.match(await page.textContent('#verdict'), /^measured: rate 500, no limit/);
  });

  await test('the verdict names the limit that it was given by', async () => {
    await show(page, open, `${quiet}&do=1:events*10,5:events`);
    const rate = exim(10, 4, 10);
    assert.equal(await page.textContent('#verdict'), `allowed: rate ${rate.toFixed(2)}, limit 10`);
    // Another limit decides the whole run again.
    await type(page, 'limit', '2');
    assert.equal(await page.textContent('#verdict'), `✕ refused: rate ${rate.toFixed(2)}, limit 2`);
    assert.deepEqual(await values(page, 'allowed', 'refused'), [2, 9]);
    await type(page, 'limit', '1');
    assert.match(await page.textContent('#again'), /^never/);
  });

  await test('the next event is allowed when the page says, and not sooner', async () => {
    const run = 'auto=off&limit=10&paused&do=1:events*15';
    await show(page, open, `${run}&at=3`);
    assert.deepEqual(await values(page, 'allowed', 'refused'), [10, 5]);
    const again = await value(page, 'again');
    assert.equal(await page.textContent('#again'), `in ${again.toFixed(1)}\u202fs`);
    for (const [early, counts] of [[0, [11, 5]], [0.001, [10, 6]]]) {
      await show(page, open, `${run}&at=${(3 + again - early).toFixed(6)}`);
      await click(page);
      assert.deepEqual(await values(page, 'allowed', 'refused'), counts);
    }
    // The same by hand: as many steps as it takes.
    await show(page, open, `${run}&at=3`);
    await step(page, Math.floor(again * 10));
    assert((await value(page, 'again')) > 0);
    await step(page, 1);
    assert.equal(await value(page, 'again'), 0);
    await click(page);
    assert.deepEqual(await values(page, 'allowed', 'refused'), [11, 5]);
  });
});

pageTest('the line for Exim is copied, and only where there is one', clipboard, async ({ page, open }) => {
  await show(page, open, quiet);
  await page.locator('#exim-copy').click();
  await page.getByText('Copied', { exact: true }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'ratelimit = 10 / 10s / strict');
  await page.clock.runFor(2100);
  assert.equal(await page.textContent('#exim-copy'), 'Copy');
  for (const [id, value, why] of [['limit', '0', /refuse everything/], ['limit', '10'], ['decay', '500ms', /whole seconds/]]) {
    await type(page, id, value);
    assert.equal(await page.locator('#exim-copy').isVisible(), !why);
    assert.match(await page.textContent('#exim-not'), why ?? /^$/);
    assert.equal(await page.textContent('#exim'), why ? '' : 'ratelimit = 10 / 10s / strict');
  }
});

pageTest('where nothing may be copied, the text is selected', async ({ page, open }) => {
  // As on a page that is served without TLS by another machine.
  await page.addInitScript(() => Object.defineProperty(Navigator.prototype, 'clipboard', { get: () => undefined }));
  await show(page, open, quiet);
  await page.locator('#exim-copy').click();
  assert.equal(await page.textContent('#exim-copy'), 'Selected');
  assert.equal(await page.evaluate(() => String(getSelection())), 'ratelimit = 10 / 10s / strict');
  await page.locator('#copy').click();
  assert.equal(await page.textContent('#copy'), 'It is in the address');
  assert(await page.locator('#failed').isHidden());
});

pageTest('what can be undone is: by a button, by keys', async ({ page, open }) => {
  await show(page, open, quiet);
  assert(await page.locator('#undo').isDisabled());
  await type(page, 'limit', '3');
  await page.clock.runFor(1100);
  await page.locator('#mode').selectOption('leaky');
  await page.clock.runFor(1100);
  // A drag is one change to undo.
  for (const value of ['1', '1.5', '2']) await page.locator('#auto-rate-slider').fill(value);
  const is = () => Promise.all(['limit', 'mode', 'auto-rate'].map((id) => page.inputValue(`#${id}`)));
  assert.deepEqual(await is(), ['3', 'leaky', '100']);
  // In what was changed, too, unless it is a box that somebody writes in.
  await page.locator('#auto-rate-slider').focus();
  await page.keyboard.press('Control+z');
  assert.deepEqual(await is(), ['3', 'leaky', '0.7']);
  await page.locator('#undo').click();
  assert.deepEqual(await is(), ['3', 'strict', '0.7']);
  await page.locator('#undo').click();
  assert.deepEqual(await is(), ['10', 'strict', '0.7']);
  assert(await page.locator('#undo').isDisabled());
});

pageTest('a drag of the line is one change to undo', crisp, async ({ page, open }) => {
  await show(page, open, quiet);
  const box = await page.locator('#graph').boundingBox();
  const y = box.y + 1 + await limitLine(page);
  await type(page, 'decay', '20s');
  await page.clock.runFor(1100);
  await page.mouse.move(box.x + 500, y);
  await page.mouse.down();
  for (let i = 1; i <= 5; i++) {
    await page.mouse.move(box.x + 500, y + 20 * i);
    await settle(page);
  }
  await page.mouse.up();
  await settle(page);
  assert(Number(await page.inputValue('#limit')) < 9);
  await page.keyboard.press('Control+z');
  assert.deepEqual([await page.inputValue('#limit'), await page.inputValue('#decay')], ['10', '20s']);
  await page.keyboard.press('Control+z');
  assert.deepEqual([await page.inputValue('#limit'), await page.inputValue('#decay')], ['10', '10s']);
  assert(await page.locator('#undo').isDisabled());
});

pageTest('what a link changes later is not undone', clipboard, async ({ page, open }) => {
  await show(page, open, 'do=20:mode=strict&mode=leaky&auto-rate=2');
  await page.clock.runFor(12_000);
  await page.locator('#window').selectOption('5m');
  await page.clock.runFor(13_000);
  await page.locator('#undo').click();
  assert.deepEqual([await page.inputValue('#window'), await page.inputValue('#mode')], ['1m', 'strict']);
  assert.match(await recording(page), /mode=leaky&.*&do=20:mode=strict$/);
});

pageTest('the limit is dragged and stays under the pointer', { ...crisp, viewport: { width: 1280, height: 1000 } }, async ({ page, open }) => {
  await show(page, open, quiet);
  const box = await page.locator('#graph').boundingBox();
  const [inner, { bottom, left }] = [box.y + 1, await plot(page)];
  for (const [x, by] of [[500, 40], [700, -40], [left - 20, 90]]) {
    const y = await limitLine(page);
    const before = Number(await page.inputValue('#limit'));
    await page.mouse.move(box.x + x, inner + y);
    assert.equal(await page.$eval('#graph', (graph) => graph.style.cursor), 'ns-resize');
    await page.mouse.down();
    // The drag is slow, so that its steps are drawn: the scale must not run away below the pointer.
    for (let i = 10; i <= Math.abs(by); i += 10) {
      await page.mouse.move(box.x + x, inner + y + Math.sign(by) * i);
      await settle(page);
    }
    // The limit snaps to tenths, which are 3 pixels high here.
    assert(Math.abs(await limitLine(page) - y - by) <= 2);
    const value = Number(await page.inputValue('#limit'));
    await page.mouse.up();
    await page.mouse.move(5, 5);
    await settle(page);
    const expected = before * (bottom - y - by) / (bottom - y);
    assert(Math.abs(value - expected) <= 0.06, `${value}, not ${expected}`);
  }
  // Beyond the edge of the plot the line goes no further, so that it stays in sight.
  await page.mouse.move(box.x + 500, inner + await limitLine(page));
  await page.mouse.down();
  await page.mouse.move(box.x + 500, 1, { steps: 5 });
  await settle(page);
  assert(await limitLine(page) < 35);
  await page.mouse.up();
  assert.equal(await events(page), 0);
  assert(await page.locator('#live').isHidden());
});

// Crosses appear below the plot as the line comes down, and disappear as it goes up again.
pageTest('a limit that is dragged decides what was', { ...crisp, ...clipboard }, async ({ page, open }) => {
  await show(page, open, 'auto=off&limit=10&at=30&paused&do=2:events*8,25:events*8');
  const box = await page.locator('#graph').boundingBox();
  const { left, right, bottom } = await plot(page);
  // The strip of refused events is the second below the plot.
  const crosses = async (second) => {
    const colours = await column(page, Math.round(right - (30 - second) / 60 * (right - left)));
    return colours.slice(2 * (bottom + 18), 2 * (bottom + 32)).includes(inks.light.Refused);
  };
  const top = 1 + await limitLine(page);
  await page.mouse.move(box.x + 500, box.y + top);
  await page.mouse.down();
  for (const by of [0.2, 0.45, 0.7, 0.3]) {
    await page.mouse.move(box.x + 500, box.y + top + by * (bottom - top), { steps: 5 });
    await settle(page);
    const limit = Number(await page.inputValue('#limit'));
    const passed = Math.min(8, Math.floor(limit));
    const [allowed, refused] = await values(page, 'allowed', 'refused');
    assert.equal(allowed + refused, 16);
    // Of the first burst, a rate of less than 1 is left when the second comes, so it may refuse one event
    // more.
    assert(allowed === 2 * passed || allowed === 2 * passed - 1, `${allowed} under ${limit}`);
    assert.equal(await crosses(2), passed < 8, `at 2 s under ${limit}`);
    assert.equal(await crosses(25), refused > 8 - passed, `at 25 s under ${limit}`);
  }
  await page.mouse.up();
  assert.match(await recording(page), /&at=30&paused&do=2:events\*8,25:events\*8$/);
});

// The box `limiter` takes any limiter, as a lane does: the limiter decides, and the link has it.
pageTest('another limiter decides what was and what comes', clipboard, async ({ page, open }) => {
  await show(page, open, 'auto=off&limit=10&at=30&paused&do=2:events*15');
  assert.equal(await page.inputValue('#limiter'), 'exim');
  await type(page, 'limiter', 'token-bucket burst 12');
  assert.deepEqual(await values(page, 'allowed', 'refused'), [12, 3]);
  assert.match(await page.textContent('#verdict'), /^✕ refused: tokens used 13.0, limit 12$/);
  assert.equal(await page.textContent('#exim'), 'token-bucket 10/10s burst 12');
  assert(await page.isHidden('#mode') && await page.isHidden('#mode-hint'), 'it has no mode');
  const link = await recording(page);
  assert.match(link, /&limiter=token-bucket burst 12&|&limiter=token-bucket%20burst%2012&/);
  await type(page, 'limiter', 'tokn');
  assert.match(await page.textContent('#limiter-error'), /not a limiter; did you mean token-bucket\? Still using token-bucket burst 12\.$/);
  await show(page, open, link);
  assert.deepEqual(await values(page, 'allowed', 'refused'), [12, 3]);
  await type(page, 'limiter', 'exim leaky');
  assert.deepEqual(await values(page, 'allowed', 'refused'), [10, 5]);
  assert.deepEqual([await page.inputValue('#mode'), await page.textContent('#exim')], ['leaky', 'ratelimit = 10 / 10s / leaky']);
  assert(await page.isVisible('#mode'));
});

pageTest('a finger drags the limit by its handle', { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }, async ({ page, open }) => {
  await show(page, open, quiet);
  const [x, y] = [20, 1 + await limitLine(page)];
  const { down, move, up } = await fingers(page);
  await down([x, y]);
  for (let i = 1; i <= 10; i++) await move([x, y + 8 * i]);
  await up();
  await settle(page);
  const limit = Number(await page.inputValue('#limit'));
  assert(limit > 4 && limit < 8, `${limit}`);
  assert.deepEqual([await events(page), await page.evaluate(() => scrollY)], [0, 0]);
});

pageTest('controls follow what a link does later', async ({ page, open }) => {
  await show(page, open, 'limit=10&mode=leaky&at=19&do=20:mode=strict,20:limit=7,20:auto=off');
  assert.deepEqual([await page.inputValue('#mode'), await page.inputValue('#limit')], ['leaky', '10']);
  await page.clock.runFor(1500);
  assert.deepEqual([await page.inputValue('#mode'), await page.inputValue('#limit')], ['strict', '7']);
  assert.equal(await page.isChecked('#auto'), false);
});

pageTest('the box of the crosshair is not over a limit that is dragged', crisp, async ({ page, open }) => {
  await noteTexts(page);
  await show(page, open, quiet);
  const box = await page.locator('#graph').boundingBox();
  const [x, y] = [box.x + 200, box.y + 1 + await limitLine(page)];
  const said = async () => { await settle(page); return (await written(page)).some((text) => text.startsWith('exactly')); };
  await rest(page, x, y);
  assert(await said());
  await page.mouse.down();
  await page.mouse.move(x, y + 30, { steps: 3 });
  assert(!await said());
  await page.mouse.up();
  assert(await said());
});
