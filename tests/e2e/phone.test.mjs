// 360 pixels wide: nothing is beside the screen, and everything can be reached and hit.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { resize, show, type } from './scope.mjs';

const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 };

// What makes the page scroll sideways, is cut off, or reaches into what is beside it.
const tooWide = (page) => page.evaluate(() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  const inside = '.readouts dd, .readouts dt, .field, .try p, .explain p, button, legend, #note';
  const cut = [...document.querySelectorAll(inside)].filter((e) => e.scrollWidth > e.clientWidth + 1);
  const names = cut.map((e) => `${e.className || e.id || e.tagName}: ${e.textContent.trim().slice(0, 30)}`);
  return scrollWidth > clientWidth ? [`the page: ${scrollWidth}`, ...names] : names;
});

const widths = [1280, 1101, 768, 360, 320];

pageTest('nothing is too wide, whatever the page shows', async ({ page, open }) => {
  for (const link of [
    'auto=off&at=5&paused',
    'auto-rate=1000000&at=4.9&paused&decay=2s&increase=100ms&limit=1000000000',
    'auto=off&limit=123456.789&at=30&paused&decay=1d2h3m4s&pattern=day-and-night 1h30m&do=1:events*1000',
    'auto=off&at=5&paused&evnts=5',
  ]) {
    await show(page, open, link);
    for (const id of ['decay', 'limit', 'auto-rate', 'seed']) await type(page, id, '1e99');
    for (const width of widths) {
      await resize(page, { width, height: 740 });
      assert.deepEqual(await tooWide(page), [], `at ${width}, ${link}`);
    }
  }
});

pageTest('on a phone', phone, async ({ page, open, test }) => {
  await test('every control can be reached and hit with a finger', async () => {
    await show(page, open, 'auto=off&at=5&paused');
    const controls = page.locator('button:visible:not(.skip), input:visible, select:visible, a:visible');
    const count = await controls.count();
    assert(count > 25, `${count} controls`);
    for (let i = 0; i < count; i++) {
      const control = controls.nth(i);
      const { name, width, height, hit } = await control.evaluate((element) => {
        element.scrollIntoView({ block: 'center' });
        const box = element.getBoundingClientRect();
        const there = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
        const name = element.id || element.ariaLabel || element.textContent;
        return { name, width: box.width, height: box.height, hit: element.contains(there) || there?.contains(element) };
      });
      assert(hit, `${name} is covered`);
      // WCAG 2.2, success criterion 2.5.8; a tick has its label as well, a link its line.
      const text = await control.evaluate((element) => element.tagName === 'A' || element.type === 'checkbox');
      assert(text || (width >= 24 && height >= 24), `${name} is ${width} x ${height}`);
    }
  });

  await test('the graph comes before the controls, and is on the first screen', async () => {
    await show(page, open);
    const box = await page.locator('#graph').boundingBox();
    assert(box.y + box.height < 740 && box.height >= 250, JSON.stringify(box));
    assert((await page.locator('form').boundingBox()).y > box.y + box.height);
  });
});
