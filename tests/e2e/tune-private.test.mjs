// Nothing leaves the page: no request is made once it is there, and the link has no data.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { choose, counted, log, reload, sampled, says, text, tune } from './tune.mjs';

// When the address changes, the browser itself may look for the icon again.
pageTest('no request leaves the page, whatever is done', { allow: [/icon\.svg/] }, async ({ page, context, open }) => {
  const requests = [];
  context.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname !== '/icon.svg') requests.push(`${request.method()} ${pathname}`);
  });
  await tune(page, open);
  // The Worker is a script of the site.
  await page.waitForFunction(() => performance.getEntriesByType('resource').some(({ name }) => name.endsWith('tune-worker.js')));
  await page.locator('#sample').click();
  await counted(page);
  for (const request of requests) assert.match(request, /^GET \/(tune\.(html|css|js)|tune-worker\.js|style\.css|page\.js|canvas\.js|client\.js|hand\.js|keys\.js|offline\.js|ratescope\.webmanifest|fingers\.js|story\.js|theme\.js|undo\.js|watch\.js|pictures\/tune-(light|dark)\.svg|pkg\/(files\.js|ratescope_(tune|configuration)(\.js|_bg\.wasm)))$/);
  requests.length = 0;
  await context.setOffline(true);
  const secret = '198.51.100.77';
  await choose(page, ['secret.log', log({ [secret]: 40, '192.0.2.1': 9 })]);
  await says(page, 't-read', /^49 requests/);
  await counted(page);
  await page.getByLabel(`${secret} is legitimate`).check();
  await page.getByRole('button', { name: secret, exact: true }).click();
  await page.locator('#for').selectOption('haproxy');
  await says(page, 'configuration', /stick-table/);
  await page.locator('#period').fill('10s');
  await counted(page);
  await page.waitForFunction(() => location.hash.includes('period=10s'));
  assert.deepEqual(requests, []);
  assert(!page.url().includes(secret) && !page.url().includes('secret'), page.url());
  assert.equal(await page.evaluate(() => Object.values({ ...localStorage, ...sessionStorage }).join()), '');
  assert.deepEqual(await kept(page), ['kept', 'more']);
  await page.locator('#forget').click();
  await page.waitForFunction(() => document.querySelector('#t-kept').textContent.startsWith('It is forgotten'));
  await page.waitForFunction(async () => (await indexedDB.databases()).length > 0);
  assert.deepEqual(await kept(page), []);
  assert.equal(await page.evaluate(() => history.state), null);
});

// The names of the entries about logs that the browser keeps.
const kept = (page) => page.evaluate(() => new Promise((done) => {
  const request = indexedDB.open('handed');
  request.onsuccess = () => {
    const asked = request.result.transaction('logs').objectStore('logs').getAllKeys();
    asked.onsuccess = () => { request.result.close(); done(asked.result); };
  };
}));

const lines = log({ '192.0.2.1': 40, '192.0.2.2': 9 });
const shows = (page) => says(page, 't-read', /^49 requests from 2 clients/);

pageTest('a log is there again after a reload and after Back, with its settings and marks', async ({ page, open }) => {
  await tune(page, open);
  await choose(page, ['access.log', lines]);
  await shows(page);
  await page.locator('#for').selectOption('haproxy');
  await page.locator('#period').fill('10s');
  await page.getByLabel('192.0.2.1 is to be stopped').check();
  await counted(page);
  await page.waitForFunction(() => location.hash.includes('period=10s') && history.state);
  const seen = await text(page, 't-sentence');
  const same = async () => {
    await shows(page);
    await counted(page);
    assert.equal(await text(page, 't-sentence'), seen);
    assert(await page.getByLabel('192.0.2.1 is to be stopped').isChecked());
  };
  await reload(page);
  await same();
  await page.evaluate(() => { location.hash += '&order=requests'; });
  await page.waitForFunction(() => history.state);
  await reload(page);
  await same();
  await page.locator('nav a', { hasText: 'Compare' }).click();
  await page.waitForURL(/compare\.html/);
  // Back is another load, also where the browser would have kept the page.
  await page.waitForFunction(() => document.documentElement.dataset.started === '');
  await page.goBack();
  await same();
  // Another tab has nothing of it, and the next log takes its place.
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.waitForFunction(() => document.documentElement.dataset.started === '');
  assert(await other.locator('#found').isHidden());
  await choose(other, ['other.log', log({ '192.0.2.9': 3 })]);
  await says(other, 't-kept', /^Kept in this browser for a day/);
  await reload(page);
  await says(page, 'problem', /^The log is no longer kept here\. Choose it again\.$/);
  assert(await page.locator('#found').isHidden());
});

pageTest('a log that is too old or too large is not kept', async ({ page, open }) => {
  await tune(page, open);
  await choose(page, ['access.log', lines]);
  await says(page, 't-kept', /^Kept in this browser for a day/);
  await page.addInitScript(() => { const { now } = Date; Date.now = () => now() + 25 * 3600e3; });
  await reload(page);
  await says(page, 'problem', /no longer kept/);
  assert.deepEqual(await kept(page), []);
  await page.evaluate(() => Object.defineProperty(Blob.prototype, 'size', { get: () => 256e6 + 1 }));
  await choose(page, ['access.log', lines]);
  await says(page, 't-kept', /^The log is too large for this browser to keep\./);
  assert(await page.locator('#forget').isHidden());
  assert.deepEqual(await kept(page), []);
});

pageTest('a link opens with the choices, and without the log', async ({ page, open, context, origin }) => {
  await sampled(page, open, 'for=exim&period=10m&untouched=99&limit=30');
  assert.equal(await page.locator('#limit').inputValue(), '30');
  await says(page, 't-sentence', /^For Exim: less than 30 requests in 10 minutes, by its own measure\. It would have refused/);
  const hash = new URL(page.url()).hash;
  const other = await context.newPage();
  await other.goto(`${origin}/tune.html${hash}`);
  await other.waitForFunction(() => document.querySelector('#limit').value === '30');
  assert(await other.locator('#found').isHidden());
  for (const [id, value] of [['for', 'exim'], ['by', 'exim'], ['period', '10m'], ['untouched', '99']]) {
    assert.equal(await other.locator(`#${id}`).inputValue(), value);
  }
  // A wrong link says so, and goes on saying it when a log is read.
  await other.goto('about:blank');
  await other.goto(`${origin}/tune.html#colour=red`);
  await says(other, 'note', /not a choice/);
  assert(await other.locator('#note').isVisible());
  await other.locator('#sample').click();
  await counted(other);
  await says(other, 'note', /not a choice/);
});
