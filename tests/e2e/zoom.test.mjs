// Zooming in time with a mouse, and that looking back never empties the graph.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { drag } from './pointer.mjs';
import { compare, HEAD, place, quiet, sent } from './compare.mjs';
import { events, noteTexts, plot, reload, settle, show, written } from './scope.mjs';

// The times at which the axis has labels, in seconds.
const times = async (page) => {
  await settle(page);
  return (await written(page)).filter((text) => /^[\d.]+\u202fs$/.test(text)).map(parseFloat);
};

// Opens a run of a minute. Returns how many events it has, the box of the graph, and where a second of it is.
async function minute(page, open) {
  await show(page, open, 'auto-rate=2&at=60&paused');
  const { left, right } = await plot(page);
  const box = await page.locator('#graph').boundingBox();
  return { before: await events(page), box, x: (seconds) => box.x + 1 + left + (right - left) * seconds / 60 };
}

pageTest('zooming in time', async ({ page, open, test }) => {
  await noteTexts(page);
  await test('Shift and drag over a span', async () => {
    const { before, box, x } = await minute(page, open);
    await page.keyboard.down('Shift');
    await drag(page, [x(20), box.y + 100], [x(30), box.y + 120]);
    await page.keyboard.up('Shift');
    await page.mouse.move(5, 5);
    const seen = await times(page);
    assert(seen.every((t) => t >= 20 && t <= 30.1) && seen.includes(25), seen.join());
    assert((await written(page)).some((text) => /^at (30|29\.9\d|30\.0\d)\u202fs$/.test(text)), (await written(page)).join());
    assert.equal(await events(page), before, 'no event');
    assert.equal(await page.inputValue('#window'), '1m', 'the setting stays');
    assert(await page.locator('#live').isVisible());
    await page.locator('#graph').focus();
    await page.keyboard.press('Escape');
    assert((await times(page)).includes(10), 'Escape returns');
    assert(await page.locator('#live').isHidden());
  });

  await test('a plain drag on the axis, and a double click there shows all', async () => {
    const { before, box, x } = await minute(page, open);
    const y = box.y + box.height - 12;
    await page.mouse.move(x(20), y);
    assert.equal(await page.$eval('#graph', (graph) => graph.style.cursor), 'col-resize');
    await drag(page, [x(20), y], [x(30), y]);
    await page.mouse.move(5, 5);
    const seen = await times(page);
    assert(seen.every((t) => t >= 20 && t <= 30.1) && seen.includes(25), seen.join());
    await page.mouse.click(x(30), y);
    await settle(page);
    assert(await page.locator('#live').isVisible(), 'one click is nothing');
    await page.mouse.click(x(30), y);
    assert((await times(page)).includes(10));
    assert(await page.locator('#live').isHidden());
    assert.equal(await events(page), before, 'and none is an event');
  });

  await test('Ctrl and wheel, around the pointer', async () => {
    const { box, x } = await minute(page, open);
    await page.mouse.move(x(30), box.y + 100);
    const all = (await times(page)).length;
    await page.keyboard.down('Control');
    for (let i = 0; i < 8; i++) await page.mouse.wheel(0, -200);
    await page.keyboard.up('Control');
    await settle(page);
    const seen = await times(page);
    assert(all > 2 && seen.every((t) => t > 22 && t < 38), seen.join());
    assert.equal(await page.evaluate(() => scrollY), 0);
    await page.locator('#live').click();
    assert((await times(page)).includes(10));
  });
});

pageTest('the same on Compare; Shift and a click is no event', async ({ page, open }) => {
  await noteTexts(page);
  await compare(page, open, `${quiet}&at=60`);
  const { left, right } = await plot(page);
  await page.keyboard.down('Shift');
  await page.mouse.click(...await place(page, (left + right) / 2, HEAD + 30));
  assert.equal(await sent(page), 0);
  const at = (part, y) => place(page, left + (right - left) * part, y);
  await drag(page, await at(1 / 3, HEAD + 30), await at(1 / 2, HEAD + 34));
  await page.keyboard.up('Shift');
  await page.mouse.move(5, 5);
  const seen = await times(page);
  assert(seen.length > 1 && seen.every((t) => t >= 19.9 && t <= 30.1), seen.join());
  await page.keyboard.press('Escape');
});

pageTest('a drag with a short history leaves it in the graph', async ({ page, open }) => {
  await show(page, open, 'auto-rate=2&at=20&paused');
  const box = await page.locator('#graph').boundingBox();
  await noteTexts(page);
  await reload(page);
  await drag(page, [box.x + 300, box.y + 200], [box.x + 1100, box.y + 200]);
  await page.mouse.move(5, 5);
  await settle(page);
  // A quarter of the minute still shows what happened since the first event.
  assert((await written(page)).some((text) => /^at 15\.\d+\u202fs$/.test(text)), (await written(page)).join());
});
