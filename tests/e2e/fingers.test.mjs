// Fingers on the graph, besides taps and swipes.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { compare, quiet, sent } from './compare.mjs';
import { fingers, phone } from './pointer.mjs';
import { events, noteTexts, settle, show, written } from './scope.mjs';

const crosshair = async (page) => {
  await settle(page);
  return (await written(page)).find((text) => text.startsWith('rate') && text.includes(' per 10\u202fs'));
};

pageTest('a press that is held shows the crosshair, and keeps it', phone, async ({ page, open }) => {
  await noteTexts(page);
  await show(page, open, 'auto-rate=2&at=50&paused');
  const before = await events(page);
  const { down, move, up } = await fingers(page);
  await down([150, 150]);
  await page.clock.runFor(600);
  const first = await crosshair(page);
  assert(first, 'it is there while the finger rests');
  for (let i = 1; i <= 8; i++) await move([150 + 8 * i, 150 - 10 * i]);
  const second = await crosshair(page);
  assert(second && second !== first, 'it follows the finger');
  assert(await page.locator('#live').isHidden(), 'and does not look back');
  assert.equal(await page.evaluate(() => scrollY), 0, 'nor scroll');
  await up();
  assert.equal(await crosshair(page), second, 'it stays');
  assert.equal(await events(page), before);
  // Another press of a finger moves the crosshair on.
  await down([100, 150]);
  for (let i = 1; i <= 4; i++) await move([100 + 8 * i, 150]);
  await up();
  const third = await crosshair(page);
  assert(third && third !== second);
  // A tap ends the crosshair and is no event; the next tap is one.
  await down([200, 150]);
  await up();
  assert.equal(await crosshair(page), undefined);
  assert.equal(await events(page), before);
  await down([200, 150]);
  await up();
  await settle(page);
  assert.equal(await events(page), before + 1);
});

pageTest('a tap beside the graph ends the crosshair too', phone, async ({ page, open }) => {
  await noteTexts(page);
  await show(page, open, 'auto-rate=2&at=50&paused');
  const { down, up } = await fingers(page);
  await down([150, 150]);
  await page.clock.runFor(600);
  await up();
  assert(await crosshair(page));
  await page.locator('.readouts').tap();
  assert.equal(await crosshair(page), undefined);
});

pageTest('a finger that scrolls the page leaves the picture alone, and one that wobbles taps', phone, async ({ page, open, test }) => {
  // Opens the page again, since one that was scrolled may still be moving.
  const anew = async (settings) => {
    await page.goto('about:blank');
    await show(page, open, settings);
  };
  await anew('auto-rate=2&at=50&paused&window=10s');
  const before = await events(page);
  const { down, move, up } = await fingers(page);
  const isLive = async () => { await settle(page); return page.locator('#live').isHidden(); };
  await test('up, and a little sideways', async () => {
    await down([150, 200]);
    for (let i = 1; i <= 6; i++) await move([150 + 4 * i, 200 - 12 * i]);
    assert(await isLive());
    await up();
    assert(await isLive());
    assert.equal(await events(page), before);
  });

  await test('sideways looks back, and what the browser takes over is undone', async () => {
    await anew('auto-rate=2&at=50&paused&window=10s');
    await down([150, 200]);
    for (let i = 1; i <= 6; i++) await move([150 + 12 * i, 200]);
    assert(!await isLive());
    await page.$eval('#graph', (graph) => graph.dispatchEvent(new PointerEvent('pointercancel', { pointerId: 2, pointerType: 'touch' })));
    assert(await isLive());
    await up();
    await down([150, 200]);
    for (let i = 1; i <= 6; i++) await move([150 + 12 * i, 200 + i]);
    await up();
    assert(!await isLive());
    assert.deepEqual([await events(page), await page.evaluate(() => scrollY)], [before, 0]);
  });

  await test('nine pixels are a tap', async () => {
    await anew('auto=off&at=5&paused');
    await down([150, 150]);
    await move([156, 156]);
    await up();
    await settle(page);
    assert.equal(await events(page), 1);
  });

  await test('a swipe upwards scrolls the page', async () => {
    await anew('auto=off&at=50&paused');
    await down([150, 180]);
    for (let i = 1; i <= 10; i++) await move([150, 180 - 12 * i]);
    await up();
    await page.waitForFunction(() => scrollY > 50);
    await settle(page);
    assert.equal(await events(page), 0);
  });
});

pageTest('two fingers are no event, and zoom the page', phone, async ({ page, open }) => {
  await compare(page, open, quiet);
  const { down, up } = await fingers(page);
  await down([120, 80], [200, 90]);
  await up();
  await settle(page);
  assert.equal(await sent(page), 0);
  assert.match(await page.$eval('#graph', (graph) => getComputedStyle(graph).touchAction), /pinch-zoom/);
});

pageTest('two fingers zoom in time where the picture has the focus', phone, async ({ page, open }) => {
  await noteTexts(page);
  const times = async () => {
    await settle(page);
    return (await written(page)).filter((text) => /^[\d.]+\u202fs$/.test(text)).map(parseFloat);
  };
  for (const begin of [() => show(page, open, 'auto-rate=2&at=60&paused'), () => compare(page, open, `${quiet}&at=60`)]) {
    await page.goto('about:blank');
    await begin();
    const counted = () => page.$$eval('#sent, #allowed, #refused', (all) => all.reduce((sum, it) => sum + Number(it.dataset.value), 0));
    const before = await counted();
    await page.locator('#graph').focus();
    assert.equal(await page.$eval('#graph', (graph) => getComputedStyle(graph).touchAction), 'pan-y');
    const { down, move, up } = await fingers(page);
    await down([140, 80], [180, 80]);
    for (let i = 1; i <= 6; i++) await move([140 - 12 * i, 80], [180 + 12 * i, 80 + 4 * i]);
    await up();
    const seen = await times();
    assert(seen.length > 1 && seen.at(-1) - seen[0] <= 20, `${seen}: the fingers are more than four times as far apart`);
    assert.equal(await counted(), before, 'that is no event');
    assert(await page.locator('#live').isVisible());
    await page.locator('#live').click();
    assert((await times()).at(-1) - (await times())[0] >= 20, 'all of it again');
  }
});

pageTest('the time axis has two labels at least, at every width and window', async ({ page, open }) => {
  await noteTexts(page);
  const windows = ['10s', '30s', '1m', '2m', '5m', '10m', '30m', '1h', '2h', '6h', '12h', '1d'];
  for (const width of [320, 390, 768, 1440]) {
    await page.setViewportSize({ width, height: 800 });
    for (const window of windows) {
      for (const [paused, label] of [['', /^−\d/], ['&paused', /^((at )?\d[\d\u202f a-z]*[smhd]|−\d.*)$/]]) {
        await show(page, open, `auto=off&window=${window}&at=100000${paused}`);
        const labels = (await written(page)).filter((text) => label.test(text));
        assert(labels.length >= 2, `${width} pixels, ${window}${paused}: ${await written(page)}`);
      }
    }
  }
});

pageTest('the header has the same rows on both views', async ({ page, open }) => {
  const rows = () => page.$$eval('header > *', (parts) =>
    [...new Set(parts.map((part) => Math.round(part.getBoundingClientRect().top / 20)))].length);
  for (const width of [1280, 900, 768, 640, 390, 360, 320]) {
    await page.setViewportSize({ width, height: 800 });
    await open('/');
    const scope = [await rows(), await page.$eval('header', (it) => it.offsetHeight)];
    await open('/compare.html');
    assert.deepEqual([await rows(), await page.$eval('header', (it) => it.offsetHeight)], scope, `at ${width}`);
  }
});

pageTest('what is said of the run covers no control', phone, async ({ page, open }) => {
  await compare(page, open, `${quiet}&limit=ten`);
  assert.match(await page.textContent('#note'), /^This link has an error, the rest is shown: "ten"/);
  const { left, right } = await page.$eval('#note', (note) => note.getBoundingClientRect());
  assert(left >= 0 && right <= 390, `${left} to ${right}`);
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  const [note, form] = await Promise.all(['#note', 'form.controls'].map((it) => page.locator(it).boundingBox()));
  assert(note.y + note.height <= form.y, 'above the controls');
});
