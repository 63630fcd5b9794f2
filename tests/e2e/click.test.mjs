// A click on the graph is an event, and the red line jumps by it.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { drag } from './pointer.mjs';
import {
  click, clipboard, close, column, crisp, events, height, inks, limitLine, plot, press, recording, settle, show, step,
  value, values,
} from './scope.mjs';

const quiet = 'auto=off&limit=10&window=10s&at=8&paused';

pageTest('clicks and keys that are events, and those that are not', async ({ page, open, test }) => {
  await test('a click lifts the rate by one', async () => {
    await show(page, open, quiet);
    assert.deepEqual(await values(page, 'rate', 'allowed', 'refused'), [0, 0, 0]);
    await click(page);
    assert.deepEqual(await values(page, 'rate', 'allowed', 'refused'), [1, 1, 0]);
    await click(page);
    const [rate, allowed] = await values(page, 'rate', 'allowed');
    assert(Math.abs(rate - 2) <= 1e-6, `${rate}`);
    assert.equal(allowed, 2);
  });

  await test('a drag upwards is none', async () => {
    await show(page, open, quiet);
    const { x, y, width, height } = await page.locator('#graph').boundingBox();
    const at = [x + width / 2, y + 0.6 * height];
    await drag(page, at, [at[0] + 1, at[1] - 60]);
    assert.deepEqual([await events(page), await page.locator('#live').isHidden()], [0, true]);
  });

  await test('nor does one stop a picture that runs', async () => {
    await show(page, open, 'auto=off');
    const { x, y, width, height } = await page.locator('#graph').boundingBox();
    const at = [x + width / 2, y + 0.6 * height];
    await drag(page, at, [at[0] + 3, at[1] + 60]);
    await page.clock.runFor(1000);
    assert.deepEqual([await events(page), await page.locator('#live').isHidden()], [0, true]);
    await drag(page, at, [at[0] + 100, at[1]], [at[0] + 2, at[1] + 20]);
    await page.clock.runFor(1000);
    assert.deepEqual([await events(page), await page.locator('#live').isHidden()], [0, true], 'it came back');
  });

  await test('what is beside the graph makes no event, nor does its axis', async () => {
    await show(page, open, quiet);
    for (const place of ['h1', '.readouts', 'legend >> nth=0', '#decay', '#mode', '#seed', '#try-title']) {
      await page.locator(place).click();
    }
    await press(page, '#step');
    const { x, y, width, height } = await page.locator('#graph').boundingBox();
    await page.mouse.click(x + width / 2, y + height - 10);
    await page.locator('#decay').focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space'); // on the button that Tab has come to
    await settle(page);
    assert.deepEqual([await events(page), await page.inputValue('#decay')], [0, '15s']);
  });

  await test('all else of the canvas is the button', async () => {
    await show(page, open, quiet);
    const { x, y, width, height } = await page.locator('#graph').boundingBox();
    const places = [[20, 8], [width / 2, 8], [20, 100], [width - 20, 100], [width - 20, height - 50], [width / 2, height - 50]];
    for (const [across, down] of places) await page.mouse.click(x + across, y + down);
    await settle(page);
    assert.equal(await events(page), places.length);
  });

  await test('after a click elsewhere Space is an event, unless one writes', async () => {
    await show(page, open, quiet);
    for (const place of ['#sound', '#auto-rate-slider', '[data-step="increase"] >> nth=1']) {
      await page.locator(place).click();
      await page.evaluate(() => scrollTo(0, 0));
      await page.keyboard.press('Space');
    }
    await settle(page);
    assert.deepEqual([await events(page), await page.inputValue('#increase')], [3, '2m']);
    await page.locator('#limit').click();
    await page.keyboard.press('Space');
    await settle(page);
    assert.equal(await events(page), 3);
  });

  await test('a button is for those who see no graph, and the verdict comes first', async () => {
    await show(page, open, `${quiet}&limit=2`);
    const button = page.getByRole('button', { name: 'Add an event' });
    await button.focus();
    for (const verdict of [/^Allowed: 1[.0]*, limit 2\./, /^Allowed: 2/, /^Refused: 3[.0]*, limit 2\./]) {
      await page.keyboard.press('Enter');
      await settle(page);
      assert.match(await page.textContent('#summary'), verdict);
    }
    assert.doesNotMatch(await page.textContent('#summary'), /Memory/);
  });

  await test('a click lands: the line jumps at once, and the mark comes with the dot', async () => {
    await show(page, open, quiet);
    const at = await plot(page);
    const marks = async () => (await column(page, at.right - 1)).slice(at.bottom + 4).filter((colour) => colour === inks.light.Allowed).length;
    await page.mouse.move(0, 0);
    await click(page);
    assert.deepEqual([await value(page, 'rate'), await marks()], [1, 0]);
    await page.clock.runFor(1100);
    assert((await marks()) >= 8, `${await marks()} pixels`);
  });

  await test('another button does nothing, also while the first one is down', async () => {
    const link = `${quiet}&do=2:events*2`;
    await show(page, open, link);
    const box = await page.locator('#graph').boundingBox();
    const at = (x) => [box.x + x, box.y + 0.6 * box.height];
    await page.mouse.click(...at(500), { button: 'right' });
    await page.mouse.click(...at(500), { button: 'middle' });
    await page.mouse.move(...at(500));
    await page.mouse.down();
    await page.mouse.down({ button: 'right' });
    await page.mouse.up();
    await page.mouse.move(...at(800));
    await page.mouse.up({ button: 'right' });
    await page.clock.runFor(400); // longer than the page waits before it writes the address
    assert.equal(await page.evaluate(() => location.hash), `#${link}`, 'the recording is still in the address');
    assert.equal(await events(page), 2);
    assert(await page.locator('#live').isHidden(), 'nothing was dragged');
  });

  await test('a click on the line of the limit is an event too', async () => {
    await show(page, open, quiet);
    await page.locator('#graph').click({ position: { x: 600, y: await limitLine(page) } });
    await settle(page);
    assert.deepEqual([await events(page), await page.inputValue('#limit')], [1, '10']);
  });
});

pageTest('the red line jumps where the click was', crisp, async ({ page, open }) => {
  await show(page, open, quiet);
  for (let i = 0; i < 3; i++) await click(page);
  await step(page, 20);
  await page.mouse.move(0, 0);
  await settle(page);
  const { left, right, bottom } = await plot(page);
  const at = (ago) => column(page, right - ago * (right - left) / 10);
  const red = inks.light.Rate;
  // Before the clicks the line is at zero; the limit's line is at ten.
  const zero = height(await at(3), red);
  const ten = 2 * await limitLine(page);
  for (const ago of [0.2, 1, 1.8]) {
    const expected = zero - (zero - ten) * 0.3 * Math.exp(-(2 - ago) / 10);
    const found = height(await at(ago), red);
    assert(Math.abs(found - expected) <= 1.5, `${ago} s ago: ${found}, not ${expected}`);
  }
  assert.equal(height(await at(2.2), red), zero);
  // At the click itself the line is upright.
  const jump = (await at(2)).filter((colour) => colour === red).length;
  assert(jump >= 0.95 * 0.3 * (zero - ten), `${jump} of ${0.3 * (zero - ten)} pixels`);
  // Below the plot the event has its tick; the shade of the tick's edges may differ.
  const below = async (ago) => (await at(ago)).slice(2 * bottom + 2, 2 * bottom + 28);
  assert.notDeepEqual(await below(2), await below(2.2));
  assert.deepEqual(await below(2.2), await below(2.4));
});

pageTest('a tap is an event', { hasTouch: true, viewport: { width: 360, height: 740 } }, async ({ page, open }) => {
  await show(page, open, quiet);
  await page.locator('#graph').tap({ position: { x: 150, y: 160 } });
  await settle(page);
  assert.equal(await value(page, 'rate'), 1);
  assert.equal(await events(page), 1);
});

// The clock of the page is stopped, so frames come only when the test says, and clicks come between two
// frames.
pageTest('an event is at the instant of the click, not at a frame', clipboard, async ({ page, open }) => {
  await show(page, open, 'auto=off');
  await page.clock.runFor(1000);
  const box = await page.locator('#graph').boundingBox();
  for (let i = 0; i < 4; i++) {
    await page.mouse.click(box.x + 600, box.y + 250);
    await page.clock.runFor(7);
  }
  const script = new URLSearchParams(await recording(page)).get('do').split(',');
  const times = script.map((command) => Number(command.split(':')[0]));
  assert.equal(times.length, 4);
  for (let i = 1; i < 4; i++) assert(close(times[i] - times[i - 1], 0.007, 1e-6), script.join());
});
