// The bitmap has the pixels of the screen, at any ratio and in the frame of a resize.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { launchBrowser } from './launch.mjs';
import { column, inks, plot, resize, settle, show } from './scope.mjs';

// The size of the canvas in CSS pixels, its size in device pixels as the browser counts them, and the size of
// its bitmap.
const sizes = (page) => page.$eval('#graph', (graph) => new Promise((done) => {
  const observer = new ResizeObserver(([entry]) => {
    observer.disconnect();
    const [{ inlineSize, blockSize }] = entry.devicePixelContentBoxSize;
    done({
      css: [entry.contentRect.width, entry.contentRect.height],
      device: [inlineSize, blockSize],
      bitmap: [graph.width, graph.height],
    });
  });
  observer.observe(graph, { box: 'device-pixel-content-box' });
}));

const views = [[1280, 800], [1001, 741], [517, 633], [360, 740]];

for (const deviceScaleFactor of [1, 1.5, 2]) {
  const name = `at ${deviceScaleFactor} device pixels a pixel`;
  pageTest(name, { deviceScaleFactor, reducedMotion: 'reduce' }, async ({ page, open, test }) => {
    await test('the bitmap has the pixels of the screen', async () => {
      await show(page, open, 'at=20&paused');
      for (const [width, height] of views) {
        await resize(page, { width, height });
        const { css, bitmap } = await sizes(page);
        assert.deepEqual(bitmap, css.map((side) => Math.round(side * deviceScaleFactor)));
      }
    });

    await test('the picture fits it', async () => {
      await show(page, open, 'auto=off&limit=0&at=20&paused&do=1:events*10&window=30s');
      for (const [width, height] of views) {
        await resize(page, { width, height });
        const { right } = await plot(page);
        // The tag of the red line begins just right of the plot's edge.
        const red = async (x) => (await column(page, x)).filter((colour) => colour === inks.light.Rate).length;
        assert(await red(right + 6) >= 15, `${width}x${height}: no tag at ${right}`);
        assert.equal(await red(right + 1), 0, `${width}x${height}: a tag before ${right}`);
      }
    });

    await test('it follows a resize within the frame', async () => {
      await show(page, open, 'at=20&paused');
      // This observer runs after the page's own and before the browser paints: it looks for a picture of that
      // size.
      await page.$eval('#graph', (graph) => {
        globalThis.seen = [];
        new ResizeObserver(([entry]) => {
          const copy = Object.assign(document.createElement('canvas'), { width: 8, height: 8 });
          const context = copy.getContext('2d', { willReadFrequently: true });
          context.drawImage(graph, 0, 0, graph.width, graph.height, 0, 0, 8, 8);
          const drawn = context.getImageData(0, 0, 8, 8).data.some((byte) => byte > 0);
          globalThis.seen.push([entry.contentRect.width * devicePixelRatio, graph.width, drawn]);
        }).observe(graph, { box: 'device-pixel-content-box' });
      });
      for (const [width, height] of views) {
        await resize(page, { width, height });
      }
      const seen = await page.evaluate(() => globalThis.seen);
      assert(seen.length >= views.length);
      for (const [shown, bitmap, drawn] of seen) assert.deepEqual([bitmap, drawn], [Math.round(shown), true]);
    });
  });
}

// Playwright only imitates a ratio. Here the browser really has one, so it rounds as it does on such a
// screen.
pageTest('every pixel of the bitmap is one of the screen', async ({ origin }) => {
  const browser = await launchBrowser('--force-device-scale-factor=1.25');
  try {
    const page = await browser.newPage({ viewport: null });
    await show(page, (path) => page.goto(origin + path), 'at=20&paused');
    assert.equal(await page.evaluate(() => devicePixelRatio), 1.25);
    for (const side of ['1201px', '900.3px', '517px', '333.3px']) {
      await page.$eval('.instrument', (element, side) => { element.style.width = side; }, side);
      await settle(page);
      const { device, bitmap } = await sizes(page);
      assert.deepEqual(bitmap, device, side);
    }
  } finally {
    await browser.close();
  }
});

// A canvas with round corners that changes in each frame costs WebKit without a graphics card most of a
// frame.
pageTest('the canvas has square corners, and what lies under it round ones', async ({ page, open }) => {
  for (const path of ['/', '/compare.html', '/tune.html', '/story.html']) {
    await open(path);
    const [radius, under] = await page.$eval('#graph', (graph) =>
      [getComputedStyle(graph), getComputedStyle(graph.parentElement, '::before')].map((style) => style.borderTopLeftRadius));
    assert.deepEqual([radius, under], ['0px', '10px'], path);
  }
});
