// The story: steps of prose beside one picture, which is the instrument itself.

import assert from 'node:assert/strict';
import { assertClean } from './clean.mjs';
import { pageTest } from './harness.mjs';
import { allowed, sent } from './compare.mjs';
import { events, hide, inks, loaded, noteTexts, prefer, resize, settle, started, stopClock, value, written } from './scope.mjs';

const STEPS = ['event', 'limit', 'burst', 'edge', 'strict', 'retry', 'bucket', 'blue', 'why', 'adaptive', 'yours',
  'even', 'uneven', 'many', 'settles', 'others', 'half-life', 'impulse', 'crux', 'number', 'mend', 'slope'];
const [STORY, MATHEMATICS] = [11, 11];

// Opens the story at a step with its clock stopped.
async function story(page, open, step = '') {
  await stopClock(page);
  await open(`/story.html${step && '#'}${step}`);
  await started(page);
  await settle(page);
}

// The step that is read, and whether its picture is one of lanes.
const now = (page) => page.evaluate(() => ({
  step: document.querySelector('.step.read').id,
  place: document.querySelector('#place').textContent,
  lanes: !document.querySelector('#lanes').hidden,
}));

// Waits until a step is read, whose top is where the reader looks.
const reads = (page, step) => page.waitForFunction((step) => {
  const it = document.querySelector('.step.read');
  const { top } = it.getBoundingClientRect();
  return it.id === step && top >= 0 && top < 0.6 * innerHeight;
}, step).then(() => settle(page));

// The sentences of the step that are lit.
const lit = (page) => page.$$eval('.step.read [data-at].lit', (all) => all.length);

pageTest('one key a step, and each step is a run of the instrument', { reducedMotion: 'reduce' }, async ({ page, open, test }) => {
  await noteTexts(page);
  await story(page, open);
  await test('forward through all of them', async () => {
    for (const [i, step] of STEPS.entries()) {
      if (i > 0) {
        await page.keyboard.press(i % 2 ? 'PageDown' : 'ArrowRight');
        await reads(page, step);
      }
      const { place, lanes } = await now(page);
      assert.equal(place, i < STORY ? `${i + 1} of ${STORY}` : `Maths ${i + 1 - STORY} of ${MATHEMATICS}`);
      // The picture that is shown has drawn something, and the link names it.
      assert((await written(page, lanes ? 'lanes' : 'graph')).length > 5, step);
      const link = await page.$eval(`#${step} .open`, (it) => it.pathname);
      assert.equal(link, lanes ? '/compare.html' : '/', step);
    }
  });

  await test('and back, also while the graph has the focus', async () => {
    await page.keyboard.press('PageUp');
    await reads(page, 'mend');
    await page.keyboard.press('ArrowLeft');
    await reads(page, 'number');
    await page.locator('#graph').focus();
    await page.keyboard.press('PageUp');
    await reads(page, 'crux');
    await page.locator('#before').click();
    await reads(page, 'impulse');
    await page.locator('#after').click();
    await reads(page, 'crux');
  });

  await test('the address names the step, and so does the link beside its title', async () => {
    await page.clock.runFor(400);
    assert.equal(await page.evaluate(() => location.hash), '#crux');
    for (const step of STEPS) assert.equal(await page.locator(`#${step} .here`).getAttribute('href'), `#${step}`);
  });
});

pageTest('blue is hidden until it is told, and the first graph waits', async ({ page, open }) => {
  await noteTexts(page);
  await story(page, open);
  const said = async () => (await written(page)).filter((text) => /^(rate|smoothed) /.test(text)).map((text) => text.split(' ')[0]);
  assert.deepEqual(await said(), ['rate']);
  assert.match(await page.textContent('#summary'), /0 allowed, 0 refused/);
  await page.locator('#graph').click({ position: { x: 300, y: 200 } });
  await settle(page);
  assert.match(await page.textContent('#summary'), /^Measured: 1.* 1 allowed, 0 refused/);
  // After a click on a button, too, Space is an event.
  await page.locator('#replay').click();
  for (let i = 0; i < 2; i++) await page.keyboard.press('Space');
  await settle(page);
  assert.match(await page.textContent('#summary'), /2 allowed, 0 refused/);
  await page.evaluate(() => { location.hash = 'blue'; });
  await reads(page, 'blue');
  assert.deepEqual((await said()).sort(), ['rate', 'smoothed']);
});

pageTest('a run of known length is drawn from left to right on an axis that stands still', async ({ page, open }) => {
  await noteTexts(page);
  await story(page, open, 'burst');
  await reads(page, 'burst');
  await page.locator('#replay').click();
  const axis = async () => (await written(page)).filter((text) => /^(at )?\d+\u202fs$/.test(text)).sort().join();
  await page.clock.runFor(500);
  const first = await axis();
  assert.match(first, /at 15\u202fs/);
  await page.clock.runFor(5000);
  assert.equal(await axis(), first);
});

pageTest('a step is read when one scrolls to it, and a link leads to it', async ({ page, open }) => {
  await story(page, open, 'burst');
  await reads(page, 'burst');
  await page.mouse.move(300, 400);
  await page.mouse.wheel(0, 800);
  await page.waitForFunction(() => document.querySelector('.step.read').id === 'edge');
});

pageTest('sentences are lit as the run passes their flags', async ({ page, open, test }) => {
  await story(page, open, 'many');
  await reads(page, 'many');
  await test('one after the other', async () => {
    await page.locator('#replay').click();
    await page.clock.runFor(100);
    assert.equal(await lit(page), 0);
    // 40 s are played in 13 s: the flags are at 10, 20 and 30 s.
    const seen = [];
    for (let i = 0; i < 3; i++) {
      await page.clock.runFor(3500);
      seen.push(await lit(page));
    }
    assert.deepEqual(seen, [1, 2, 3]);
  });

  await test('a pause holds them, and time runs on after it', async () => {
    await page.locator('#replay').click();
    await page.clock.runFor(4000);
    await page.locator('#hold').click();
    await page.clock.runFor(10_000);
    assert.deepEqual([await lit(page), await page.textContent('#hold')], [1, 'Run']);
    await page.locator('#hold').click();
    await page.clock.runFor(4000);
    assert.deepEqual([await lit(page), await page.textContent('#hold')], [2, 'Pause']);
  });
});

pageTest('what the prose says is what the instrument does', { reducedMotion: 'reduce' }, async ({ page, open, origin }) => {
  await noteTexts(page);
  await story(page, open);
  const links = await page.$$eval('.step .open', (all) => all.map((it) => [it.closest('.step').id, it.getAttribute('href')]));
  const link = Object.fromEntries(links);
  // The run of a step's link at an instant, in the view that the link leads to.
  const at = async (step, seconds, change = (it) => it) => {
    const href = change(link[step]).replace('&paused', '').replace(/&at=[\d.]+/, `&at=${seconds}&paused`);
    await page.goto('about:blank');
    await page.goto(new URL(href, `${origin}/story.html`).href);
    await loaded(page);
  };
  const near = (found, said) => assert(Math.abs(found - said) <= 0.5 * 10 ** -(`${said}`.split('.')[1] ?? '').length + 1e-9, `${found} and not ${said}`);
  const rate = async (step, seconds, said) => { await at(step, seconds); near(await value(page, 'rate'), said); };
  await rate('event', 2, 1);
  await rate('event', 12, 0.37);
  await rate('event', 22, 0.14);
  await rate('even', 10.0001, 6.3);
  await rate('even', 40, 3.5);
  await rate('uneven', 14.0001, 7.5);
  await rate('uneven', 36.9999, 0.76);
  await rate('uneven', 37.0001, 1.1);
  await rate('settles', 50.0001, 16);
  await rate('settles', 90.0001, 10);
  await rate('many', 10.0001, 6.3);
  await rate('many', 20.0001, 8.7);
  await rate('many', 30.0001, 9.5);
  await at('limit', 60);
  assert.deepEqual([await value(page, 'allowed'), await value(page, 'refused')], [48, 8]);
  await at('burst', 2);
  assert.deepEqual([await value(page, 'allowed'), await value(page, 'refused')], [10, 2]);
  near(await value(page, 'again'), 2.7);
  await at('strict', 7.0001);
  assert.deepEqual([await value(page, 'allowed'), await value(page, 'refused')], [13, 1]);
  await at('strict', 30);
  assert.equal(await value(page, 'allowed'), 13);
  near(await value(page, 'again'), 6.6);
  await at('strict', 30, (href) => href.replace('mode=strict', 'mode=leaky'));
  assert.equal(await value(page, 'allowed'), 36);
  await at('others', 60);
  near(await value(page, 'mean-now'), 3.9);
  near(await value(page, 'rate'), 2.3);
  for (const [before, after] of [[2.9999, 3.0001], [6.9999, 7.0001]]) {
    await at('number', before);
    const n = await value(page, 'recent-now');
    await at('number', after);
    near(await value(page, 'recent-now') - n, 1.00);
  }
  await at('number', 55.0001);
  near(await value(page, 'recent-now') - await value(page, 'rate'), 0.5);
  // The readings of the lanes of the recent average, per second.
  for (const [step, seconds, ...said] of [
    ['half-life', 20, 5], ['half-life', 69.9, 9.8], ['half-life', 79.9, 4.9],
    ['impulse', 10.0001, 7], ['impulse', 19.9019, 3.5], ['impulse', 19.9021, 10.5],
    ['crux', 15.0001, 7], ['crux', 189.9, 7], ['crux', 284.902, 7],
  ]) {
    await at(step, seconds);
    const labels = (await written(page)).filter((text) => /^[\d.]+ of \d+$/.test(text));
    near(Number.parseFloat(labels[0]), said[0]);
  }
  await at('blue', 41.5);
  near(await value(page, 'smoothed'), 2.3);
  await at('blue', 120);
  near(await value(page, 'smoothed'), 7.9);
  for (const [step, seconds, passed, events] of [
    ['mend', 150, [45, 156], 250], ['mend', 254, [45, 254], 354], ['mend', 300.5, [90, 301], 401],
    ['adaptive', 530, [285, 285], 285], ['adaptive', 600, [301, 584], 584],
    ['why', 1300, [59, 59, 42], 59], ['edge', 20, [20, 10], 20], ['bucket', 14.99, [19, 10], 29], ['bucket', 25, [29, 20], 49],
  ]) {
    await at(step, seconds);
    assert.deepEqual([await allowed(page), await sent(page)], [passed, events], `${step} at ${seconds}`);
  }
  // How the jobs of the clients went, who send other numbers in each lane.
  const jobs = () => page.$$eval('#jobs tbody tr', (rows) => rows.map((row) => row.cells[1].textContent.replaceAll('\u202f', ' ')));
  await at('retry', 2.5001);
  assert.deepEqual(await allowed(page), [11, 11]);
  await at('retry', 40);
  assert.deepEqual([await allowed(page), await jobs()], [[11, 20], ['9 left', 'after 24.5 s']]);
  await at('retry', 40, (href) => href.replace('exim%20strict;', 'exim%20leaky;'));
  assert.deepEqual(await jobs(), ['after 12.0 s', 'after 24.5 s']);
});

pageTest('"open it" continues where the run is, with the events of the reader', async ({ page, open }) => {
  await story(page, open, 'burst');
  await reads(page, 'burst');
  await page.clock.runFor(10_000);
  await page.evaluate(() => document.activeElement.blur());
  for (let i = 0; i < 3; i++) await page.keyboard.press('Space');
  await settle(page);
  const summary = await page.textContent('#summary');
  assert.match(summary, /13 allowed, 2 refused/);
  await page.locator('#burst .open').click();
  await page.waitForURL(/\/#/);
  await loaded(page);
  assert.equal(await events(page), 15);
  assert.match(await page.evaluate(() => location.hash), /at=1\d\.\d+&do=2:events\*12,1\d\.\d+:events\*3$/);
});

pageTest('there is one thing to do in each step', { reducedMotion: 'reduce' }, async ({ page, open, test }) => {
  await test('the past is judged again by another mode', async () => {
    await story(page, open, 'strict');
    await reads(page, 'strict');
    const button = page.locator('#strict [data-set]');
    assert.equal(await button.getAttribute('aria-pressed'), 'false');
    assert.match(await page.textContent('#summary'), /13 allowed, 46 refused/);
    await button.click();
    await settle(page);
    assert.equal(await button.getAttribute('aria-pressed'), 'true');
    assert.match(await page.textContent('#summary'), /36 allowed, 23 refused/);
    await button.click();
    await settle(page);
    assert.match(await page.textContent('#summary'), /13 allowed, 46 refused/);
  });

  await test('Space is an event for all lanes', async () => {
    await page.keyboard.press('PageUp');
    await reads(page, 'edge');
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('Space');
    await settle(page);
    assert.match(await page.textContent('#lanes-summary'), /^21 events\. 1, fixed-window: 21 allowed/);
  });
});

pageTest('a term of the formula has its height in the graph', { reducedMotion: 'reduce', colorScheme: 'light' }, async ({ page, open }) => {
  await noteTexts(page);
  await story(page, open, 'many');
  await reads(page, 'many');
  const bold = async () => (await written(page)).filter((text) => /^[\d.]+$/.test(text)).join();
  const before = await bold();
  for (const [i, term] of ['added', 'left', 'sum'].entries()) {
    await page.locator('#many button.term').nth(i).focus();
    await settle(page);
    assert.notEqual(await bold(), before, term);
    assert.equal(await page.locator(`#many mrow[data-term=${term}]`).evaluate((it) => it.classList.contains('seen')), true);
  }
  await page.locator('#replay').focus();
  await settle(page);
  assert.equal(await bold(), before);
  await page.locator('#many mrow[data-term=left]').hover();
  await settle(page);
  assert.notEqual(await bold(), before);
});

for (const viewport of [{ width: 1280, height: 800 }, { width: 1024, height: 768 }, { width: 820, height: 1180 }, { width: 360, height: 640 }]) {
  const size = `${viewport.width} x ${viewport.height}`;
  pageTest(`graph and sentence are in sight together at ${size}`, { viewport, reducedMotion: 'reduce' }, async ({ page, open }) => {
    await story(page, open, 'event');
    for (const step of STEPS) {
      if (step !== 'event') await page.keyboard.press('PageDown');
      await reads(page, step);
      const { graph, text, wide } = await page.evaluate(() => {
        const box = (it) => { const { left, right, top, bottom } = it.getBoundingClientRect(); return { left, right, top, bottom }; };
        const { scrollWidth, clientWidth } = document.documentElement;
        return { graph: box(document.querySelector('.screen')), text: box(document.querySelector('.step.read p')), wide: scrollWidth - clientWidth };
      });
      assert.equal(wide, 0, 'nothing scrolls sideways');
      assert(graph.top >= 0 && graph.bottom <= viewport.height, `${step}: ${JSON.stringify(graph)}`);
      const apart = text.top >= graph.bottom || text.right <= graph.left;
      assert(apart && text.top >= 0 && text.bottom <= viewport.height, `${step}: ${JSON.stringify([graph, text])}`);
    }
  });
}

for (const [width, height] of [[667, 375], [720, 450], [844, 390], [932, 430], [1100, 500]]) {
  pageTest(`on a low screen the graph has the width of the page, at ${width} x ${height}`, { viewport: { width, height }, reducedMotion: 'reduce' }, async ({ page, open }) => {
    await story(page, open);
    for (const step of ['event', 'burst', 'edge']) {
      await page.evaluate((step) => { location.hash = step; }, step);
      await page.waitForFunction((step) => document.querySelector('.step.read').id === step, step);
      const { graph, wide, apart } = await page.evaluate(() => {
        const { scrollWidth, clientWidth } = document.documentElement;
        const [stage, title] = ['.stage', '.step.read h2'].map((it) => document.querySelector(it).getBoundingClientRect());
        const canvas = document.querySelector('.screen canvas:not([hidden])');
        return { graph: canvas.clientWidth, wide: scrollWidth - clientWidth, apart: title.top - stage.bottom };
      });
      assert.deepEqual([graph > width - 60, wide], [true, 0], `${graph}`);
      // It is right above the step that is read.
      if (height < 500) assert(apart >= 0 && apart < 40, `${step}: ${apart}`);
    }
  });
}

pageTest('on paper each step has its picture', { reducedMotion: 'reduce' }, async ({ page, open }) => {
  await story(page, open, 'strict');
  await reads(page, 'strict');
  await page.locator('#strict [data-set]').click();
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  await prefer(page, { media: 'print' });
  const pictures = await page.$$eval('.step', (all) => all.map((step) => {
    const svg = step.querySelector('.paper svg');
    return [step.id, svg.checkVisibility() && svg.getBoundingClientRect().height > 100, step.querySelector('.figure').getBoundingClientRect().height > 10];
  }));
  assert.deepEqual(pictures, STEPS.map((step) => [step, true, true]));
  // Each has the scale of its own run: nothing is drawn above its upper edge.
  const above = await page.$$eval('.paper svg *', (all) => all.filter((it) => it.getBBox?.().y < -1).map((it) => it.outerHTML.slice(0, 100)));
  assert.deepEqual(above, []);
  assert(await page.locator('.stage').isHidden());
  assert((await page.$eval('#strict .paper', (it) => it.innerHTML)).includes(inks.light.Rate), 'its ink is that of paper');
  await prefer(page, { media: 'screen' });
  await settle(page);
  assert.match(await page.textContent('#summary'), /36 allowed, 23 refused/, 'the run is as it was');
  assert.equal(await lit(page), 3);
  assert.equal((await now(page)).step, 'strict');
});

pageTest('axe finds nothing on the story, light and dark, wide and narrow', { reducedMotion: 'reduce' }, async ({ page, open }) => {
  await story(page, open);
  assert.deepEqual(await page.$$eval('h1, h2, h3', (all) => all.filter((it) => it.checkVisibility()).length), STEPS.length + 2);
  for (const step of ['many', 'edge']) {
    await page.evaluate((step) => { location.hash = step; }, step);
    await page.waitForFunction((step) => document.querySelector('.step.read').id === step, step);
    // Visitors who do not see the picture are told what it shows.
    const described = await page.$eval('canvas:not([hidden])', (it) => document.getElementById(it.getAttribute('aria-describedby')).textContent);
    assert(described.length > 40, described);
    for (const colorScheme of ['light', 'dark']) {
      for (const viewport of [{ width: 1280, height: 800 }, { width: 360, height: 740 }]) {
        await prefer(page, { colorScheme });
        await resize(page, viewport);
        await assertClean(page, `${step}, ${colorScheme}, ${viewport.width} pixels wide`);
      }
    }
  }
});

pageTest('a hidden tab makes no harm', async ({ page, open }) => {
  await story(page, open, 'edge');
  await reads(page, 'edge');
  await hide(page, true);
  await page.clock.runFor(5000);
  await hide(page, false);
  await settle(page);
  assert.equal((await now(page)).lanes, true);
});
