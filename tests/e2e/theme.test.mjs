// Light and dark: from the system, by the switch, and the same colours as the graph's.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { column, inks, plot, press, reload, settle, show } from './scope.mjs';

const isDark = (page) => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor !== 'rgb(246, 247, 249)');

// Whether the graph is drawn in a theme: of that red, whose other theme's is not there.
async function graphIs(page, theme) {
  const { right } = await plot(page);
  const colours = await column(page, right + 6); // the tags
  const other = theme === 'dark' ? 'light' : 'dark';
  return colours.includes(inks[theme].Rate) && !colours.includes(inks[other].Rate);
}

pageTest('the colours', async ({ page, open, test }) => {
  await test('the page follows the system as long as nothing is chosen', async () => {
    await show(page, open, 'auto=off&at=5&paused&do=1:events*3');
    for (const colorScheme of ['dark', 'light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      await settle(page);
      assert.equal(await isDark(page), colorScheme === 'dark');
      assert(await graphIs(page, colorScheme));
    }
  });

  await test('the switch turns to the other, and a reload keeps it', async () => {
    for (const [colorScheme, other] of [['light', 'dark'], ['dark', 'light']]) {
      await page.emulateMedia({ colorScheme });
      await settle(page);
      assert.equal(await page.getAttribute('#theme', 'aria-pressed'), `${colorScheme === 'dark'}`);
      await press(page, '#theme');
      for (const again of [false, true]) {
        if (again) await reload(page);
        assert.equal(await isDark(page), other === 'dark');
        assert(await graphIs(page, other));
        assert.equal(await page.getAttribute('#theme', 'aria-pressed'), `${other === 'dark'}`);
      }
      await page.evaluate(() => localStorage.clear());
      await reload(page);
    }
  });

  await test('the style sheet has the colours of the palette', async () => {
    const names = { '--rate': 'Rate', '--smoothed': 'Smoothed', '--text': 'Text', '--muted': 'Muted', '--panel': 'Panel' };
    for (const theme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme: theme });
      await show(page, open);
      for (const [property, ink] of Object.entries(names)) {
        const colour = await page.evaluate((property) => {
          const probe = document.body.appendChild(document.createElement('i'));
          probe.style.color = `var(${property})`;
          const rgb = getComputedStyle(probe).color.match(/\d+/g).map(Number);
          probe.remove();
          return `#${rgb.map((c) => c.toString(16).padStart(2, '0')).join('')}`;
        }, property);
        assert.equal(colour, inks[theme][ink], `${property} in ${theme}`);
      }
    }
  });
});

pageTest('a browser that keeps nothing still has a switch', async ({ page, open }) => {
  await page.addInitScript(() => {
    Object.defineProperty(globalThis, 'localStorage', {
      get() { throw new DOMException('denied', 'SecurityError'); },
    });
  });
  await show(page, open, 'auto=off&at=5&paused&do=1:events*3');
  await press(page, '#theme');
  assert(await isDark(page));
  assert(await graphIs(page, 'dark'));
  assert(await page.locator('#failed').isHidden());
});
