// Light and dark, and that both views agree on it.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { compare, HEAD, laneInks, plots, quiet } from './compare.mjs';
import { column, loaded, press, reload, settle } from './scope.mjs';

const run = `${quiet}&lanes=fixed-window 10/1m&do=1:events*5`;
const isDark = (page) => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor !== 'rgb(246, 247, 249)');

// Whether the lane is drawn in a theme: its tag is of that colour.
async function graphIs(page, theme) {
  const { right } = await plots(page);
  const colours = (await column(page, right + 6)).slice(HEAD, 86);
  const other = theme === 'dark' ? 'light' : 'dark';
  return colours.includes(laneInks[0][theme]) && !colours.includes(laneInks[0][other]);
}

pageTest('the page follows the system, and then the switch', async ({ page, open }) => {
  await compare(page, open, run);
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme });
    await settle(page);
    assert.equal(await isDark(page), colorScheme === 'dark');
    assert(await graphIs(page, colorScheme));
  }
  await press(page, '#theme');
  for (const again of [false, true]) {
    if (again) await reload(page);
    assert(await isDark(page));
    assert(await graphIs(page, 'dark'));
    assert.equal(await page.getAttribute('#theme', 'aria-pressed'), 'true');
  }
});

pageTest('from view to view the theme stays', async ({ page, open }) => {
  const go = async (name) => {
    await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
    await page.waitForFunction((name) => document.querySelector('nav [aria-current="page"]')?.textContent === name, name);
    await loaded(page);
    await settle(page);
  };
  const dark = async () => [await isDark(page), await page.getAttribute('#theme', 'aria-pressed')];
  await compare(page, open, run);
  assert.deepEqual(await dark(), [false, 'false']);
  await press(page, '#theme');
  await go('Scope');
  assert.equal(new URL(page.url()).pathname, '/');
  assert.deepEqual(await dark(), [true, 'true']);
  await go('Compare');
  assert.equal(new URL(page.url()).pathname, '/compare.html');
  assert.deepEqual(await dark(), [true, 'true']);
  await press(page, '#theme');
  await go('Scope');
  assert.deepEqual(await dark(), [false, 'false']);
});
