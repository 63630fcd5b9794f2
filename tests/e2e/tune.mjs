// Shared by the tests of the Tune page: logs, and what the page says of them.

export { gzipSync as gzip } from 'node:zlib';

// Opens the page and waits until its module is there.
export async function tune(page, open, fragment = '') {
  await open(`/tune.html${fragment && '#'}${fragment}`);
  await page.waitForFunction(() => document.querySelector('#untouched').value !== '');
  if (!await page.$eval('#settings', (settings) => settings.open)) await page.locator('#settings-title').click();
}

// Waits until everything that was asked for is counted.
export const counted = (page) => page.waitForFunction(
  () => document.querySelector('#t-sentence').dataset.value === '1' && document.querySelector('#progress').hidden, null, { polling: 50 });

// Opens the page with the sample, read and counted.
export async function sampled(page, open, fragment) {
  await tune(page, open, fragment);
  await page.locator('#sample').click();
  await counted(page);
}

export const text = (page, id) => page.locator(`#${id}`).textContent();

// Waits until a text fits a pattern, and returns the text.
export async function says(page, id, pattern) {
  await page.waitForFunction(([id, source]) => new RegExp(source).test(document.getElementById(id).textContent), [id, pattern.source]);
  return text(page, id);
}

// Hands files to the page, each a name and a text or bytes.
export const choose = (page, ...files) => page.locator('#files').setInputFiles(
  files.map(([name, content]) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(content) })));

// Loads the page again, once its address is written, 300 ms after a change: the timer of this wait was set later, so it
// ends later. If Chromium loads a page while its address is written, the entry of the history may lose its state.
export async function reload(page) {
  await page.evaluate(() => new Promise((done) => { setTimeout(done, 300); }));
  await page.reload();
}

// The lines of an access log, in the order of time: `clients` has the number of requests of each, which come
// `apart` seconds from each other.
export function log(clients, apart = 1) {
  const lines = [];
  for (const [ip, count] of Object.entries(clients)) {
    for (let i = 0; i < count; i++) {
      const time = new Date(Date.UTC(2026, 2, 2, 12) + i * apart * 1000).toISOString();
      lines.push([time, `${ip} - - [${time.slice(8, 10)}/Mar/2026:${time.slice(11, 19)} +0000] "GET /${i} HTTP/1.1" 200 1`]);
    }
  }
  return lines.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, line]) => `${line}\n`).join('');
}

// The row of a client in the table: its requests, its peak and the time of that, its refused requests and the
// time of the first.
export const row = (page, key) => page.$$eval('#t-clients tr', (rows, key) => {
  const row = rows.find((row) => row.querySelector('button').textContent === key);
  return row && [2, 3, 4, 1, 5].map((i) => row.cells[i].textContent.replaceAll(/\s/g, ' '));
}, key);
