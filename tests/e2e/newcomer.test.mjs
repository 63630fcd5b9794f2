// The wishes of a newcomer, from an empty tab: how many actions each takes, and whether the answer is in sight. An
// action is a click, a drop, or a text that is written; they are numbered.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { clipboard, started, until } from './scope.mjs';
import { counted, log } from './tune.mjs';

// Whether the element that fits `selector` is on the screen with all of its height.
const isInSight = (page, selector) => page.$eval(selector, (it) => {
  const { top, bottom } = it.getBoundingClientRect();
  return it.checkVisibility() && top >= 0 && bottom <= innerHeight;
});

for (const viewport of [{ width: 1440, height: 900 }, { width: 390, height: 844 }]) {
  const at = `at ${viewport.width} pixels`;

  pageTest(`"what is this?": a refusal and why, in two actions, ${at}`, { viewport }, async ({ page, open }) => {
    await open('/');
    await started(page);
    assert.match(await page.innerText('.gist:visible'), /^Red is the rate .* refused/);
    assert(await isInSight(page, '.gist:not([hidden])'));
    assert(Number(await page.$eval('#refused', (it) => it.dataset.value)) > 0, 'some were refused already');
    // The two actions: a lower limit, and an event of your own.
    await page.fill('#limit', '1'); // 1
    await page.click('#graph', { position: { x: 150, y: 100 } }); // 2
    await until(page, () => /refused/.test(document.querySelector('#verdict').textContent));
    assert.match(await page.textContent('#verdict'), /refused: rate [\d.]+, limit 1$/);
  });

  pageTest(`"which limiter is for me?": two questions and one table, ${at}`, { viewport }, async ({ page, open }) => {
    await open('/');
    await started(page);
    await page.getByRole('link', { name: 'Compare', exact: true }).click(); // 1
    await started(page);
    await page.getByLabel('May clients burst?').selectOption('yes'); // 2
    await page.getByLabel('Must the limit hold in any window?').selectOption('yes'); // 3
    await until(page, () => document.querySelectorAll('.lane').length === 1);
    assert.equal(await page.textContent('.lane .name'), 'sliding-log');
    assert(await page.locator('.which table').isVisible());
  });
}

pageTest('"nginx lines for my log": two actions from the first view', async ({ page, open }) => {
  await open('/');
  await started(page);
  await page.getByRole('link', { name: 'Tune', exact: true }).click(); // 1
  await started(page);
  const lines = log({ '192.0.2.1': 200, '192.0.2.2': 40, '192.0.2.3': 30, '192.0.2.4': 20 });
  await page.setInputFiles('#files', { name: 'access.log', mimeType: 'text/plain', buffer: Buffer.from(lines) }); // 2
  await counted(page);
  assert.match(await page.textContent('#t-sentence'), /^For nginx: /);
  assert.match(await page.textContent('#configuration'), /limit_req_zone .*\n[^]*limit_req zone=/);
  assert(await page.locator('#copy-configuration').isEnabled());
});

pageTest('"whom would it hit?": from the sample to one client’s events, three actions', async ({ page, open }) => {
  await open('/tune.html');
  await started(page);
  await page.click('#sample'); // 1
  await counted(page);
  assert(await isInSight(page, '#t-sentence'), 'the answer is on the first screen');
  await page.locator('[data-order="refused"]').click(); // 2
  await page.waitForFunction(() => document.querySelector('#t-clients tr')?.classList.contains('refused'));
  await page.locator('#t-clients button').first().click(); // 3
  await page.waitForFunction(() => /refused by/.test(document.querySelector('#scope-counts').textContent));
});

pageTest('"show this to a colleague": a link that says the same, two actions', clipboard, async ({ page, open, context }) => {
  await open('/');
  await started(page);
  await page.fill('#limit', '7'); // 1
  await page.click('#copy'); // 2
  await until(page, () => document.querySelector('#copy').textContent === 'Copied');
  const link = await page.evaluate(() => navigator.clipboard.readText());
  const refused = await page.$eval('#refused', (it) => Number(it.dataset.value));
  const other = await context.newPage();
  await other.goto(link);
  await started(other);
  assert.equal(await other.inputValue('#limit'), '7');
  assert(Number(await other.$eval('#refused', (it) => it.dataset.value)) >= refused);
});
