// The comparison where there is little room: nothing is beside the screen, all can be hit.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { compare, lane, quiet } from './compare.mjs';
import { resize, type } from './scope.mjs';

const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 };

// What makes the page scroll sideways, is cut off, or reaches into what is beside it.
const tooWide = (page) => page.evaluate(() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  const inside = '.lane .counts, .lane .error, .add, .add .error, .field, .try p, .explain p, button, legend, #note';
  const cut = [...document.querySelectorAll(inside)].filter((e) => e.scrollWidth > e.clientWidth + 1);
  const out = [...document.querySelectorAll('.lane > *, .add > *, header > *')].filter((e) => {
    const { left, right, width } = e.getBoundingClientRect();
    return width > 0 && (left < 0 || right > clientWidth);
  });
  const names = [...cut, ...out].map((e) => `${e.className || e.id || e.tagName}: ${e.textContent.trim().slice(0, 30)}`);
  return scrollWidth > clientWidth ? [`the page: ${scrollWidth}`, ...names] : names;
});

pageTest('nothing is too wide, whatever the page shows', async ({ page, open }) => {
  for (const link of [
    quiet,
    `${quiet}&script=99999 at 1s,99999 at 2s&lanes=sliding-window 12345.678/1d2h3m4s precision 5m per user + adaptive x3 decay 10s increase 2m floor 5 strict;gcra`,
    `${quiet}&evnts=5`,
  ]) {
    await compare(page, open, link);
    for (const id of ['limit', 'cost', 'auto-rate', 'seed', 'script']) await type(page, id, '1e99');
    await lane(page, 2).fill('something that is no limiter at all');
    await page.locator('#add').fill('neither is this a limiter');
    await page.locator('#add').press('Enter');
    for (const width of [1280, 1101, 768, 360, 320]) {
      await resize(page, { width, height: 740 });
      assert.deepEqual(await tooWide(page), [], `at ${width}, ${link}`);
    }
  }
});

pageTest('on a phone', phone, async ({ page, open, test }) => {
  await test('every control can be reached and hit with a finger', async () => {
    await compare(page, open, quiet);
    const controls = page.locator('button:visible:not(.skip), input:visible, select:visible, a:visible');
    const count = await controls.count();
    assert(count > 50, `${count} controls`);
    for (let i = 0; i < count; i++) {
      const { name, text, width, height, hit } = await controls.nth(i).evaluate((element) => {
        element.scrollIntoView({ block: 'center' });
        const box = element.getBoundingClientRect();
        const there = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
        return {
          name: element.id || element.ariaLabel || element.textContent,
          // A tick has its label as well, a link its line.
          text: element.tagName === 'A' || element.type === 'checkbox',
          width: box.width,
          height: box.height,
          hit: element.contains(there) || there?.contains(element),
        };
      });
      assert(hit, `${name} is covered`);
      // WCAG 2.2, success criterion 2.5.8.
      assert(text || (width >= 24 && height >= 24), `${name} is ${width} x ${height}`);
    }
  });

  await test('all of what is wrong with a lane is said', async () => {
    await compare(page, open, quiet);
    await lane(page, 2).fill('something that is no limiter at all');
    const error = page.locator('#lane-2-error');
    await error.getByText('Still earrrl').waitFor();
    assert(await error.evaluate((it) => it.clientHeight > 30 && it.scrollHeight <= it.clientHeight));
    // And seen, over what is drawn.
    assert(await error.evaluate((it) => {
      const { left, bottom } = it.getBoundingClientRect();
      return document.elementFromPoint(left + 5, bottom - 5) === it;
    }));
  });

  await test('the lanes come before the controls, and begin on the first screen', async () => {
    await compare(page, open, quiet);
    const box = await page.locator('#graph').boundingBox();
    assert(box.y < 150, JSON.stringify(box));
    assert((await page.locator('form').boundingBox()).y > box.y + box.height);
  });
});
