// A log that is dropped on Scope or Compare is taken to Tune.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { until } from './scope.mjs';

const lines = Array.from({ length: 40 }, (_, i) =>
  `192.0.2.${1 + (i % 3)} - - [18/May/2015:08:05:${String(10 + i).padStart(2, '0')} +0000] "GET / HTTP/1.1" 200 12 "-" "-"\n`).join('');

// Drops a file with that text on the page, or without a name the text itself.
const drop = (page, name, text) => page.evaluate(([name, text]) => {
  const dataTransfer = new DataTransfer();
  if (name) dataTransfer.items.add(new File([text], name));
  else dataTransfer.setData('text', text);
  for (const type of ['dragover', 'drop']) {
    const event = new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
    document.body.dispatchEvent(event);
    // If the page did not take the event, the browser would open the file in place of the page.
    if (!event.defaultPrevented) throw new Error(`${type} is left to the browser`);
  }
}, [name, text]);

const read = (page) => until(page, () => document.querySelector('#t-read')?.textContent.startsWith('40 requests'));

for (const path of ['/', '/compare.html']) {
  pageTest(`dropped on ${path}`, async ({ page, open, test }) => {
    await open(path);
    await until(page, () => document.documentElement.dataset.started === '');

    await test('a log is read by Tune, and kept nowhere', async () => {
      await Promise.all([page.waitForURL(/tune\.html/), drop(page, 'access.log', lines)]);
      await read(page);
      assert.equal(new URL(page.url()).hash, '', 'the address says nothing of it');
      await page.reload();
      await until(page, () => document.documentElement.dataset.started === '');
      assert.equal(await page.locator('#found').isVisible(), false, 'it was handed over once');
    });

    await test('lines too, and nothing is nothing', async () => {
      await open(path);
      await until(page, () => document.documentElement.dataset.started === '');
      await drop(page, '', '');
      await Promise.all([page.waitForURL(/tune\.html/), drop(page, '', lines)]);
      await read(page);
    });
  });
}
