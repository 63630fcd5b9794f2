// The first minute: what a visitor sees before doing anything, and how a first click is answered.

import assert from 'node:assert/strict';
import { compare, quiet, sent } from './compare.mjs';
import { pageTest } from './harness.mjs';
import { phone } from './pointer.mjs';
import { click, events, loaded, noteTexts, plot, rest, settle, show, stopClock, type, value, values, visit, written } from './scope.mjs';

const desk = { viewport: { width: 1440, height: 900 } };
// Opens the Scope by its address alone, with every control as it is at first.
const plain = (page, open, fragment = '') => visit(page, open, '/', fragment);
const box = (page, what) => page.locator(what).boundingBox();
const said = (page) => written(page).then((words) => words.filter((text) => /^(allowed|refused|measured) now/.test(text)));

pageTest('the page opens in the middle of something', desk, async ({ page, open, test }) => {
  await noteTexts(page);
  await test('there are refusals on the first screen, and it goes on', async () => {
    await plain(page, open);
    const [allowed, refused] = await values(page, 'allowed', 'refused');
    assert.deepEqual([allowed, refused], [32, 14]);
    assert.deepEqual([await page.textContent('#note'), await page.textContent('#pause')], ['', 'Pause']);
    assert((await written(page)).includes('now'), 'it is the present');
    const rate = await value(page, 'rate');
    await page.clock.runFor(3000);
    assert.notEqual(await value(page, 'rate'), rate);
  });

  await test('graph and open controls fit one screen, under the stories, and the sentence is under the graph', async () => {
    const [gist, stories, graph, window] = await Promise.all(['.gist:visible', '.try', '#graph', '#window'].map((what) => box(page, what)));
    const form = await page.$$eval('form > fieldset', (all) => Math.max(...all.map((it) => it.getBoundingClientRect().bottom)));
    assert(stories.y < graph.y && graph.y + graph.height <= gist.y && graph.height > 350, JSON.stringify([gist, stories, graph]));
    assert(window.y > graph.y && form <= 900, `the controls end at ${form}`);
    for (const seldom of ['#seed', '#exact', '#step', '#ghost', '#bucket']) assert(await page.locator(seldom).isHidden(), seldom);
  });
});

pageTest('what the red line is, is said at every width', async ({ page, open }) => {
  await plain(page, open);
  for (const width of [1440, 1200, 768, 390, 320]) {
    await page.setViewportSize({ width, height: 800 });
    const [{ y, height }, graph] = [await box(page, '.gist:visible'), await box(page, '#graph')];
    assert(graph.y < 200 && y >= graph.y + graph.height && y + height < 640, `at ${width}`);
    assert.match(await page.innerText('.gist:visible'), /^Red is the rate that the limiter remembers: it jumps with each event and fades\./);
    assert.match(await page.innerText('header p'), /^Click the graph/);
  }
});

pageTest('the sentence is about the limiter in force', async ({ page, open }) => {
  for (const [link, words] of [
    ['limit=5&mode=strict', /events are refused, and still count/], ['limit=5&mode=leaky', /events are refused, and don’t count/],
    ['limit=0', /nothing is refused/], ['limiter=token-bucket burst 12', /tokens that are gone.*Red and blue only measure/],
    ['limiter=leaky-bucket', /a queue/], ['limiter=sliding-log', /events of the window/], ['limiter=earrrl', /recent average/],
    ['limiter=adaptive x2 decay 10s increase 25s floor 5', /multiple of the usual rate/], ['limiter=3/1s %26 gcra', /This limiter remembers/],
  ]) {
    await plain(page, open, link);
    assert.match(await page.innerText('.gist:visible'), words, link);
    const moves = !/adaptive/.test(link);
    assert.equal(await page.locator('#limit').isEnabled(), moves, link);
    assert.equal(await page.locator('#limit-own').isVisible(), !moves, link);
    // What it says of the mode would be untrue of another limiter.
    assert.equal(await page.locator('#mode').isVisible(), !/limiter/.test(link), link);
    assert.equal(await page.locator('#limit-zero').isVisible(), moves, link);
  }
});

pageTest('a changed interval says what became of the limit, and keeps the rate', async ({ page, open }) => {
  await show(page, open, 'limit=10&decay=10s&auto=off&at=20&paused');
  assert.equal(await page.textContent('#kept'), '');
  await type(page, 'decay', '30'); // seconds, where there is no unit
  assert.equal(await page.textContent('#rate-unit'), 'per 30\u202fs');
  assert.equal(await page.textContent('#kept'), 'The limit is 10 per 30\u202fs now: a third of before.');
  await page.getByRole('button', { name: 'Keep the rate' }).click();
  await settle(page);
  assert.deepEqual([await page.inputValue('#limit'), await page.textContent('#kept')], ['30', '']);
  await type(page, 'decay', '3m');
  assert.match(await page.textContent('#kept'), /: 16\.7\u202f% of before\.$/);
  await type(page, 'decay', '10h');
  assert.match(await page.textContent('#kept'), /: 0\.0833\u202f% of before\.$/);
  await type(page, 'decay', '15s');
  assert.match(await page.textContent('#kept'), /twice as much as before/);
  await type(page, 'limit', '12');
  assert.equal(await page.textContent('#kept'), '', 'the viewer has chosen');
});

pageTest('More is open where a link has something of it', async ({ page, open }) => {
  const isOpen = () => page.$eval('#more', (more) => more.open);
  await plain(page, open);
  assert.equal(await isOpen(), false);
  await page.locator('.try a').first().click();
  await page.waitForFunction(() => !document.querySelector('#story').hidden);
  assert.equal(await isOpen(), false, 'a scenario has the plain seed, and not that of the opening run');
  for (const [link, opens] of [['limit=5&at=10', false], ['seed=5', true]]) {
    await page.goto('about:blank');
    await plain(page, open, link);
    assert.equal(await isOpen(), opens, link);
  }
});

pageTest('on a phone the graph stays while the controls scroll', phone, async ({ page, open }) => {
  await plain(page, open);
  assert.match(await page.innerText('header p'), /^Tap the graph: every tap is an event\.$/);
  for (const control of ['#limit', '#increase', '#auto-rate', '#window']) {
    await page.locator(control).evaluate((it) => it.scrollIntoView({ block: 'end' }));
    const [graph, it] = await Promise.all(['#graph', control].map((what) => box(page, what)));
    assert(graph.y >= 0 && graph.y + graph.height <= it.y, `${control} at ${it.y} under the graph, from ${graph.y}`);
  }
  // A control that has the focus is not hidden under the graph, either.
  await page.locator('#window').focus();
  for (let i = 0; i < 6; i++) await page.keyboard.press('Shift+Tab');
  const [graph, there] = [await box(page, '#graph'), await page.evaluate(() => document.activeElement.getBoundingClientRect().top)];
  assert(there >= graph.y + graph.height, `${there}`);
  // An iPhone would zoom in on a box with smaller text.
  for (const box of await page.locator('input:visible, select:visible').all()) {
    assert(await box.evaluate((it) => parseFloat(getComputedStyle(it).fontSize)) >= 16);
  }
});

const still = { reducedMotion: 'reduce' };

pageTest('with less motion a click is answered where it was, for a second', still, async ({ page, open }) => {
  await noteTexts(page);
  await show(page, open, 'auto=off&limit=2&at=30&paused');
  await click(page);
  assert.deepEqual((await said(page)).slice(-1), ['allowed now']);
  await click(page);
  await click(page);
  assert.deepEqual(await said(page), ['refused now: 3.00 of 2']);
  await page.clock.runFor(1100);
  assert.deepEqual(await said(page), []);
  await type(page, 'limit', '0');
  await page.locator('#graph').focus();
  await page.keyboard.press('Space');
  await settle(page);
  assert((await said(page)).includes('measured now: 4.00'));
  await type(page, 'limit', '3');
  assert.deepEqual(await said(page), [], 'it is measured no more');
});

pageTest('a click on the lanes is answered too', still, async ({ page, open }) => {
  await noteTexts(page);
  await compare(page, open, `${quiet}&lanes=fixed-window 1/10s;fixed-window 2/10s`);
  await page.locator('#graph').focus();
  for (const answer of ['allowed now by all', 'allowed now by 1 of 2', 'refused now by all']) {
    await page.keyboard.press('Space');
    await settle(page);
    assert.deepEqual((await said(page)).slice(-1), [answer]);
  }
});

pageTest('a click while one looks back is seen at once', async ({ page, open }) => {
  await show(page, open, 'auto-rate=2&at=50&paused&window=10s');
  await page.locator('#graph').focus();
  await page.keyboard.press('PageUp');
  await settle(page);
  assert(await page.locator('#live').isVisible());
  const before = await events(page);
  await click(page);
  assert.equal(await events(page), before + 1);
  assert(await page.locator('#live').isHidden());
});

pageTest('Space out of sight of the graph scrolls, as anywhere', async ({ page, open }) => {
  await show(page, open, 'auto=off&at=5&paused');
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight / 2));
  const before = await page.evaluate(() => scrollY);
  assert(await page.$eval('#graph', (graph) => graph.getBoundingClientRect().bottom < 0));
  await page.keyboard.press('Space');
  await page.waitForFunction((before) => scrollY > before, before);
  assert.equal(await events(page), 0);
});

pageTest('there is something to see after a reload, and of a link that says nothing', async ({ page, open }) => {
  await plain(page, open);
  await type(page, 'limit', '4');
  await page.clock.runFor(400);
  assert.equal(await page.evaluate(() => location.hash), '#increase=25s&limit=4&auto-rate=0.5&seed=3', 'of settings, those that are not usual');
  await page.reload();
  await loaded(page);
  assert.equal(await page.inputValue('#limit'), '4');
  assert(await events(page) > 15);
  for (const [path, count] of [['/#nonsense', events], ['/compare.html#nonsense', sent]]) {
    await page.goto('about:blank');
    await stopClock(page);
    await open(path);
    await loaded(page);
    assert(await count(page) > 15, path);
    assert.match(await page.textContent('#note'), /^This link has an error: "nonsense"/);
  }
});

pageTest('the box of a crosshair and the axis below it say one time', async ({ page, open }) => {
  await noteTexts(page);
  await show(page, open, 'auto-rate=1&at=50&window=10s');
  await page.locator('#graph').focus();
  await page.keyboard.press('PageUp');
  const { right } = await plot(page);
  const { x, y } = await box(page, '#graph');
  await rest(page, x + right - 1, y + 100);
  const times = (await written(page)).filter((text) => /^(at )?[\d.]+\u202fs( ago)?$/.test(text));
  assert(times.every((text) => !text.endsWith('ago')) && times.some((text) => text.startsWith('at 4')), times.join());
  assert(!(await written(page)).some((text) => text.startsWith('−')), 'nothing is told as so long ago');
});
