// On a small screen nothing reaches beyond the screen, and everything can be reached and hit.

import assert from 'node:assert/strict';
import { compare, opened, quiet } from './compare.mjs';
import { pageTest } from './harness.mjs';
import { resize, settle, show, type } from './scope.mjs';
import { sampled } from './tune.mjs';

const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 };
const widths = [1280, 1101, 1024, 768, 390, 360, 320];

// How each view is opened, links to long content, texts for its boxes, and the least number of its
// controls.
const views = {
  scope: {
    begin: show,
    still: 'auto=off&at=5&paused',
    links: [
      'auto=off&at=5&paused',
      'auto-rate=1000000&at=4.9&paused&decay=2s&increase=100ms&limit=1000000000',
      'auto=off&limit=123456.789&at=30&paused&decay=1d2h3m4s&pattern=day-and-night 1h30m&do=1:events*1000',
      'auto=off&at=5&paused&evnts=5',
    ],
    async write(page) {
      for (const id of ['decay', 'limit', 'auto-rate', 'seed']) await type(page, id, '1e99');
    },
    controls: 25,
  },
  compare: {
    begin: compare,
    still: quiet,
    links: [
      quiet,
      `${quiet}&script=99999 at 1s,99999 at 2s&lanes=sliding-window 12345.678/1d2h3m4s precision 5m per user %26 adaptive x3 decay 10s increase 2m floor 5 strict;gcra`,
      `${quiet}&evnts=5`,
    ],
    async write(page) {
      for (const id of ['limit', 'cost', 'auto-rate', 'seed', 'script']) await type(page, id, '1e99');
      await (await opened(page, 2)).fill('something that is no limiter at all');
      await page.locator('#add').fill('neither is this a limiter');
      await page.locator('#add').press('Enter');
    },
    controls: 50,
  },
  tune: {
    begin: sampled,
    links: ['for=exim'],
    async write(page) {
      await page.locator('#t-clients button').first().click();
      await page.locator('#more summary').click();
    },
  },
};

// The elements that are cut off or reach beyond the screen, and whether the page scrolls sideways. Tables and
// pictures of Tune have scroll bars of their own, so these are not looked at.
const tooWide = (page, view) => page.evaluate((view) => {
  const { scrollWidth, clientWidth } = document.documentElement;
  const inside = '.readouts dd, .readouts dt, .lane .counts, .lane .error, .add, .add .error, .field, .try p, .explain p, button, legend, #note';
  const all = view === 'tune' ? [] : [...document.querySelectorAll(inside)];
  const cut = all.filter((e) => e.scrollWidth > e.clientWidth + 1);
  const out = [...document.querySelectorAll('.lane > *, .add > *, .bar .error, header > *')].filter((e) => {
    const { left, right, width } = e.getBoundingClientRect();
    return width > 0 && (left < 0 || right > clientWidth);
  });
  const names = [...cut, ...out].map((e) => `${e.className || e.id || e.tagName}: ${e.textContent.trim().slice(0, 30)}`);
  return scrollWidth > clientWidth ? [`the page: ${scrollWidth}`, ...names] : names;
}, view);

pageTest('on a low screen, what stands above the graph is in one row', async ({ page, open }) => {
  await show(page, open, views.scope.still);
  for (const [width, height] of [[667, 375], [720, 450], [844, 390]]) {
    await resize(page, { width, height });
    const tops = await page.evaluate(() => [...document.querySelectorAll('header > :is(h1, nav, p, button)')].map((it) => {
      const { top, bottom } = it.getBoundingClientRect();
      return (top + bottom) / 2;
    }));
    assert(Math.max(...tops) - Math.min(...tops) < 4, `at ${width}: ${tops}`);
  }
});

for (const [view, { begin, links, write }] of Object.entries(views)) {
  pageTest(`nothing is too wide on ${view}, whatever it shows`, async ({ page, open }) => {
    for (const link of links) {
      await begin(page, open, link);
      await write(page);
      for (const width of widths) {
        await resize(page, { width, height: 740 });
        assert.deepEqual(await tooWide(page, view), [], `at ${width}, ${link}`);
      }
    }
  });
}

for (const view of ['scope', 'compare']) {
  const { begin, still, controls: least } = views[view];
  pageTest(`${view} on a phone`, phone, async ({ page, open, test }) => {
    await test('every control can be reached and hit with a finger', async () => {
      await begin(page, open, still);
      const controls = page.locator('button:visible:not(.skip), input:visible, select:visible, a:visible');
      const found = await controls.evaluateAll((all) => all.map((element) => {
        element.scrollIntoView({ block: 'center' });
        const box = element.getBoundingClientRect();
        const there = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
        return {
          name: element.id || element.ariaLabel || element.textContent,
          // A checkbox can be hit on its label as well, and a link on its line.
          text: element.tagName === 'A' || element.type === 'checkbox',
          width: box.width,
          height: box.height,
          hit: element.contains(there) || there?.contains(element),
        };
      }));
      assert(found.length > least, `${found.length} controls`);
      for (const { name, text, width, height, hit } of found) {
        assert(hit, `${name} is covered`);
        // WCAG 2.2, success criterion 2.5.8.
        assert(text || (width >= 24 && height >= 24), `${name} is ${width} x ${height}`);
      }
    });

    await test('the picture comes before the controls, and begins on the first screen', async () => {
      await begin(page, open);
      const box = await page.locator('#graph').boundingBox();
      if (view === 'scope') assert(box.y + box.height < 640 && box.height >= 250, JSON.stringify(box));
      // There is room for the longest sentence, and the bar stands above the lanes.
      assert(box.y < (view === 'scope' ? 300 : 440), JSON.stringify(box));
      assert((await page.locator('.controls').first().boundingBox()).y > box.y + box.height);
    });

    await test('what the note says moves nothing', async () => {
      await begin(page, open);
      const places = () => page.$$eval('#graph, .readouts, .controls', (all) => all.map((it) => it.getBoundingClientRect().top + scrollY));
      const before = await places();
      await page.$eval('#pause', (button) => button.click());
      await settle(page);
      assert.deepEqual([await page.textContent('#note'), await places()], ['paused', before]);
    });

    await test('nor does a page with the larger letters for fingers scroll sideways', async () => {
      await begin(page, open, still);
      await resize(page, { width: 320, height: 640 });
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
    });
  });
}

pageTest('what belongs to a lane is in one row of its head', phone, async ({ page, open }) => {
  await compare(page, open, `${quiet}&lanes=sliding-counter;adaptive x4 decay 2s increase 3m floor 6 by hour day 1m;gcra`);
  const tops = await page.$$eval('.lane', (lanes) => lanes.map((lane) =>
    ['.number', '.pencil', '.what', '.remove'].map((part) => lane.querySelector(part).getBoundingClientRect().top)));
  for (const [first, ...rest] of tops) assert.deepEqual(rest, rest.map(() => first));
});

pageTest('all of what is wrong with a lane is said', phone, async ({ page, open }) => {
  await compare(page, open, quiet);
  await (await opened(page, 2)).fill('something that is no limiter at all');
  await page.clock.runFor(1000); // the error is told when typing rests
  const error = page.locator('#lane-2-error');
  assert.match(await error.textContent(), /Still using sliding-window/);
  assert(await error.evaluate((it) => it.clientHeight > 30 && it.scrollHeight <= it.clientHeight));
  // The error is seen: it lies over the drawing.
  assert(await error.evaluate((it) => {
    const { left, bottom } = it.getBoundingClientRect();
    return document.elementFromPoint(left + 5, bottom - 5) === it;
  }));
});
