// Light and dark: as the system asks, by the switch, in the colours of the graph, and alike on both views.

import assert from 'node:assert/strict';
import { compare, HEAD, laneInks, property, quiet } from './compare.mjs';
import { pageTest } from './harness.mjs';
import { column, denyStores, inks, loaded, plot, prefer, press, reload, settle, show } from './scope.mjs';

// How each view is opened, and the ink of a tag in light and in dark.
const views = {
  scope: { begin: show, run: 'auto=off&at=5&paused&do=1:events*3', ink: { light: inks.light.Rate, dark: inks.dark.Rate } },
  compare: { begin: compare, run: `${quiet}&lanes=fixed-window 10/1m&do=1:events*5`, ink: laneInks[4] },
};

const isDark = (page) => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor !== 'rgb(246, 247, 249)');

// Fails unless page, switch and graph are in a theme: the tags have its ink, and not that of the other theme.
async function assertIn(page, theme, ink) {
  assert.equal(await isDark(page), theme === 'dark');
  assert.equal(await page.getAttribute('#theme', 'aria-pressed'), `${theme === 'dark'}`);
  const { right } = await plot(page);
  const colours = (await column(page, right + 6)).slice(HEAD);
  assert(colours.includes(ink[theme]) && !colours.includes(ink[theme === 'dark' ? 'light' : 'dark']));
}

for (const [view, { begin, run, ink }] of Object.entries(views)) {
  pageTest(`the colours of ${view}`, async ({ page, open, test }) => {
    await test('the page follows the system as long as nothing is chosen', async () => {
      await begin(page, open, run);
      for (const colorScheme of ['dark', 'light', 'dark']) {
        await prefer(page, { colorScheme });
        await settle(page);
        await assertIn(page, colorScheme, ink);
      }
    });

    await test('the switch turns to the other, and a reload keeps it', async () => {
      for (const [colorScheme, other] of [['light', 'dark'], ['dark', 'light']]) {
        await prefer(page, { colorScheme });
        await settle(page);
        await press(page, '#theme');
        await assertIn(page, other, ink);
        await reload(page);
        await assertIn(page, other, ink);
        await page.evaluate(() => localStorage.clear());
        await reload(page);
      }
    });
  });
}

pageTest('the system’s theme, chosen again, is followed again', async ({ page, open }) => {
  const { begin, run, ink } = views.scope;
  await begin(page, open, run);
  await press(page, '#theme');
  await assertIn(page, 'dark', ink);
  await press(page, '#theme');
  await assertIn(page, 'light', ink);
  for (const colorScheme of ['dark', 'light']) {
    await prefer(page, { colorScheme });
    await settle(page);
    await assertIn(page, colorScheme, ink);
  }
});

pageTest('a theme that was chosen is there before any module is', async ({ page, open }) => {
  await open('/');
  await page.evaluate(() => localStorage.setItem('theme', 'dark'));
  await page.route('**/*.js', (route) => (route.request().url().endsWith('watch.js') ? route.continue() : undefined));
  for (const path of ['/', '/compare.html', '/tune.html', '/story.html']) {
    await page.goto(new URL(path, page.url()).href, { waitUntil: 'commit' });
    await page.waitForSelector('h1');
    assert(await isDark(page), path);
  }
});

pageTest('the style sheet has the colours of the palette', async ({ page, open }) => {
  const names = { '--rate': 'Rate', '--smoothed': 'Smoothed', '--text': 'Text', '--muted': 'Muted', '--panel': 'Panel' };
  await show(page, open);
  for (const theme of ['light', 'dark']) {
    await prefer(page, { colorScheme: theme });
    for (const [name, ink] of Object.entries(names)) assert.equal(await property(page, name), inks[theme][ink], `${name} in ${theme}`);
  }
});

pageTest('a browser that keeps nothing still has a switch', async ({ page, open }) => {
  await denyStores(page);
  const { begin, run, ink } = views.scope;
  await begin(page, open, run);
  await press(page, '#theme');
  await assertIn(page, 'dark', ink);
  assert(await page.locator('#failed').isHidden());
});

pageTest('a choice on another page, and one from before Back, is followed', async ({ page, open, context }) => {
  const { begin, run, ink } = views.scope;
  await begin(page, open, run);
  const other = await context.newPage();
  await other.goto(new URL('/compare.html', page.url()).href);
  await loaded(other);
  for (const theme of ['dark', 'light']) {
    await press(other, '#theme');
    await page.waitForFunction((dark) => document.querySelector('#theme').ariaPressed === dark, `${theme === 'dark'}`);
    await settle(page);
    await assertIn(page, theme, ink);
  }
  // A page that the browser keeps for Back is told of nothing until it is shown again.
  await page.evaluate(() => {
    localStorage.setItem('theme', 'dark');
    dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
  });
  await settle(page);
  await assertIn(page, 'dark', ink);
});

pageTest('from view to view the theme stays', async ({ page, open }) => {
  const go = async (name) => {
    await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
    await page.waitForFunction((name) => document.querySelector('nav [aria-current="page"]')?.textContent === name, name);
    await loaded(page);
  };
  const dark = async () => [await isDark(page), await page.getAttribute('#theme', 'aria-pressed')];
  await compare(page, open, views.compare.run);
  assert.deepEqual(await dark(), [false, 'false']);
  await press(page, '#theme');
  await go('Scope');
  assert.equal(new URL(page.url()).pathname, '/index.html');
  assert.deepEqual(await dark(), [true, 'true']);
  await go('Compare');
  assert.equal(new URL(page.url()).pathname, '/compare.html');
  assert.deepEqual(await dark(), [true, 'true']);
  await press(page, '#theme');
  await go('Scope');
  assert.deepEqual(await dark(), [false, 'false']);
});
