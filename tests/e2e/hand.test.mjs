// A log that is dropped on Scope or Compare is taken to Tune.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { drag } from './pointer.mjs';
import { denyStores, started, until } from './scope.mjs';
import { reload } from './tune.mjs';

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
    await started(page);

    await test('a log is read by Tune, and is there again after a reload, until it is forgotten', async () => {
      await Promise.all([page.waitForURL(/tune\.html/), drop(page, 'access.log', lines)]);
      await read(page);
      assert.equal(new URL(page.url()).hash, '', 'the address says nothing of it');
      await until(page, () => !document.querySelector('#kept').hidden);
      await reload(page);
      await read(page);
      await until(page, () => !document.querySelector('#kept').hidden);
      await page.locator('#forget').click();
      await reload(page);
      await started(page);
      assert.equal(await page.locator('#found').isVisible(), false);
      assert.equal(await page.textContent('#problem'), '');
    });

    await test('lines too, and nothing is nothing', async () => {
      await open(path);
      await started(page);
      await drop(page, '', '');
      await Promise.all([page.waitForURL(/tune\.html/), drop(page, '', lines)]);
      await read(page);
    });
  });
}

// Drags the thing at the middle of one place to another, as a mouse does.
async function carry(page, ...places) {
  const boxes = await Promise.all(places.map((what) => page.locator(what).first().boundingBox()));
  await drag(page, ...boxes.map(({ x, y, width, height }) => [x + width / 2, y + height / 2]));
}

// Drags words that stand in the first paragraph over another place, and holds them there.
async function dragWords(page, words, to) {
  const { x, y } = await page.$eval('.gist:not([hidden])', (it, words) => {
    it.textContent = words;
    getSelection().selectAllChildren(it);
    return getSelection().getRangeAt(0).getBoundingClientRect();
  }, words);
  const box = await page.locator(to).boundingBox();
  await page.mouse.move(x + 4, y + 8);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 5 });
}

pageTest('what is dragged within the page is no log', async ({ page, open, test }) => {
  for (const path of ['/#seed=5', '/compare.html#seed=5']) {
    await test(`a link on ${path}`, async () => {
      await open(path);
      await started(page);
      await carry(page, '.try a:visible, nav a', '#graph');
      await carry(page, 'nav a', '#graph');
      await page.locator('#copy').hover();
      assert.equal(page.url(), new URL(path, page.url()).href);
    });
  }

  await test('words are dropped into a box, as anywhere', async () => {
    await open('/#limit=7');
    await started(page);
    await page.locator('#limit').fill('');
    await dragWords(page, '3', '#limit');
    await page.mouse.up();
    assert.equal(await page.inputValue('#limit'), '3');
    assert.equal(new URL(page.url()).pathname, '/');
  });

  await test('a log is taken after words that were replaced while they were dragged', async () => {
    await open('/');
    await started(page);
    await dragWords(page, '3', '#graph');
    await page.$eval('.gist:not([hidden])', (it) => { it.textContent = '4'; });
    await page.mouse.up();
    await page.locator('#copy').hover();
    await Promise.all([page.waitForURL(/tune\.html/), drop(page, 'access.log', lines)]);
  });

  await test('a link on Tune', async () => {
    await open('/tune.html');
    await started(page);
    await carry(page, 'nav a', '#drop');
    assert.deepEqual([await page.textContent('#problem'), await page.locator('#progress').isVisible()], ['', false]);
  });
});

pageTest('a browser that keeps nothing can not hand a log over, and says so', async ({ page, open }) => {
  await denyStores(page);
  await open('/');
  await started(page);
  await drop(page, 'access.log', lines);
  await until(page, () => document.querySelector('#note').textContent === 'Open Tune, and drop the log there.');
  await open('/tune.html#handed');
  await until(page, () => document.querySelector('#problem').textContent === 'This browser could not hand the log over. Drop it here.');
  assert(await page.locator('#failed').isHidden());
});
