// axe-core finds nothing on the Tune page, and it fits on a phone.

import assert from 'node:assert/strict';
import { assertClean } from './clean.mjs';
import { pageTest } from './harness.mjs';
import { resize } from './scope.mjs';
import { choose, sampled, says, tune } from './tune.mjs';

pageTest('axe finds nothing, light and dark, wide and narrow', async ({ page, open }) => {
  await tune(page, open);
  await assertClean(page, 'at first');
  await sampled(page, open, 'for=exim');
  await page.locator('#periods').waitFor();
  const headings = await page.$$eval('h1, h2, h3', (all) =>
    all.filter((h) => h.checkVisibility()).map((h) => `${h.tagName} ${h.textContent}`));
  assert.deepEqual(headings, ['H1 Ratescope', 'H2 To paste', 'H2 Other periods', 'H2 Clients', 'H2 What the curve says', 'H3 Keys, on the graph']);
  // With everything that can appear.
  await page.locator('#more summary').click();
  for (const id of ['limit', 'untouched', 'period', 'status', 'year']) await page.locator(`#${id}`).fill('abc');
  await page.locator('#paste').click();
  await page.locator('#t-clients button').first().click();
  await choose(page, ['no.log', 'nothing\n']);
  await says(page, 'problem', /unknown/);
  for (const colorScheme of ['light', 'dark']) {
    for (const viewport of [{ width: 1280, height: 800 }, { width: 360, height: 740 }]) {
      await page.emulateMedia({ colorScheme });
      await resize(page, viewport);
      await assertClean(page, `${colorScheme}, ${viewport.width} pixels wide`);
    }
  }
});

pageTest('nothing makes the page scroll sideways', async ({ page, open }) => {
  await sampled(page, open, 'for=exim');
  await page.locator('#t-clients button').first().click();
  await page.locator('#more summary').click();
  for (const width of [1280, 1024, 768, 390, 320]) {
    await resize(page, { width, height: 740 });
    const { scrollWidth, clientWidth } = await page.evaluate(() => document.documentElement);
    assert.equal(scrollWidth, clientWidth, `at ${width}`);
  }
});

pageTest('with a keyboard alone', async ({ page, open }) => {
  await tune(page, open);
  const reach = async (id) => {
    for (let i = 0; i < 60; i++) {
      if (await page.evaluate((id) => document.activeElement.id === id, id)) return;
      await page.keyboard.press('Tab');
    }
    assert.fail(`${id} is not reached`);
  };
  await reach('sample');
  await page.keyboard.press('Enter');
  await says(page, 't-sentence', /would have refused/);
  await reach('graph');
  const limit = () => page.locator('#limit').inputValue().then(Number);
  const before = await limit();
  await page.keyboard.press('ArrowDown');
  await page.waitForFunction((before) => Number(document.querySelector('#limit').value) < before, before);
  await page.keyboard.press('ArrowLeft');
  await says(page, 'summary', /^Limit [\d.]+: touches .* clients/);
  await reach('copy-configuration');
});
