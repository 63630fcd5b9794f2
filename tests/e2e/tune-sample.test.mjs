// The sample, from the drop to the configuration.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { pageTest } from './harness.mjs';
import { root } from './launch.mjs';
import { counted, row, sampled, says, text, tune } from './tune.mjs';

const ratescope = (args, input) => execFileSync(process.env.RATESCOPE ?? `${root}target/debug/ratescope`, args, { input, maxBuffer: 1 << 28 });

// The place of the limit's tag in the window: the longest row of pixels of its ink.
async function handle(page) {
  await page.$eval('#graph', (graph) => graph.scrollIntoView({ block: 'center' }));
  const box = await page.locator('#graph').boundingBox();
  const [x, y] = await page.$eval('#graph', (graph) => {
    const { width, height, clientWidth } = graph;
    const { data } = graph.getContext('2d').getImageData(0, 0, width, height);
    const is = (i) => data[i] === 0x4a && data[i + 1] === 0x2a && data[i + 2] === 0x75;
    let best = [0, 0, 0];
    for (let y = 0; y < 0.6 * height; y++) {
      for (let x = 0, run = 0; x < width; x++) {
        run = is(4 * (y * width + x)) ? run + 1 : 0;
        if (run > best[0]) best = [run, x - run / 2, y];
      }
    }
    return best.slice(1).map((at) => (at * clientWidth) / width);
  });
  return [box.x + 1 + x, box.y + 1 + y];
}

// From now on the times of day that are drawn are in globalThis.times, by the id of the canvas.
const noteTimes = (page) => page.evaluate(() => {
  globalThis.times = {};
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function fill(text, ...rest) {
    if (/^\d\d:\d\d/.test(text)) (globalThis.times[this.canvas.id] ??= new Set()).add(text);
    fillText.call(this, text, ...rest);
  };
});

pageTest('before there is a log, a picture in the colours of the theme shows the answer to the sample, and reads it', {}, async ({ page, open }) => {
  await tune(page, open);
  for (const theme of ['light', 'dark', 'light']) {
    if (theme === 'dark') await page.emulateMedia({ colorScheme: 'dark' });
    else if (await page.locator('#picture .dark').isVisible()) await page.locator('#theme').click();
    await page.locator(`#picture .${theme}`).waitFor();
    assert(await page.$eval(`#picture .${theme}`, (image) => image.complete && image.naturalWidth === 1200));
    assert.equal(await page.locator('#picture img:visible').count(), 1);
  }
  await page.locator('#picture').click();
  await counted(page);
  assert.match(await text(page, 't-read'), /^100.000 requests/);
  assert.equal(await page.locator('#picture').isVisible(), false);
});

pageTest('the sample', { permissions: ['clipboard-read', 'clipboard-write'], acceptDownloads: true }, async ({ page, open, test }) => {
  await sampled(page, open);

  await test('says what the command line says', async () => {
    const log = ratescope(['sample']);
    const report = JSON.parse(ratescope(['tune', '--json', '--only', '--period', '1m', '-'], log));
    assert.match(await text(page, 't-read'), new RegExp(`^100.000 requests from ${String(report.clients).replace(/(?=(...)$)/, '.')} clients \\(per ip\\)`));
    const bucket = report.recommended[1].limit;
    const { rate, burst } = bucket.match(/gcra (?<rate>\S+) burst (?<burst>\d+)/).groups;
    assert.equal(await text(page, 'measure'), `Burst, at ${rate}`);
    // With nginx's roundings the burst may be one more or one less.
    assert(Math.abs(await page.locator('#limit').inputValue() - burst) <= 1);
    // The sentence is about the limit as nginx has it.
    const own = `nginx ${rate} burst ${await page.locator('#limit').inputValue() - 1} nodelay`;
    const tried = JSON.parse(ratescope(['tune', '--json', '--only', '--period', '1m', '--limit', own, '-'], log)).limits[0];
    assert.match(await text(page, 't-sentence'), new RegExp(`^For nginx: .* It would have refused .* from ${tried.clients_touched} of ${report.clients.toLocaleString('en')} clients`));
    await page.locator('#for').selectOption('exim');
    await says(page, 't-sentence', /^For Exim: .* would have refused/);
    const effect = (says) => says.replace(/^.* would have/, '');
    assert.equal(effect(await text(page, 't-sentence')), effect(report.recommended[0].says));
    await page.locator('#for').selectOption('nginx');
    await says(page, 't-sentence', /^For nginx/);
  });

  await test('the limit can be dragged, and the server is asked again', async () => {
    const before = Number(await page.locator('#limit').inputValue());
    const sentence = await text(page, 't-sentence');
    const [x, y] = await handle(page);
    await page.mouse.move(x, y);
    assert.equal(await page.$eval('#graph', (graph) => graph.style.cursor), 'ew-resize');
    await page.mouse.down();
    await page.mouse.move(x - 60, y, { steps: 8 });
    await page.mouse.move(x - 150, y, { steps: 8 });
    await page.mouse.up();
    await page.waitForFunction((before) => Number(document.querySelector('#limit').value) < before, before);
    const limit = Number(await page.locator('#limit').inputValue());
    assert(limit > 0 && limit < before && Number.isInteger(limit), String(limit));
    await says(page, 't-sentence', new RegExp(`bursts of ${limit}\\. It would`));
    assert.notEqual(await text(page, 't-sentence'), sentence);
    assert.match(await text(page, 't-learned'), new RegExp(`^Recommended would be ${before}`));
    await page.waitForFunction((limit) => location.hash.includes(`limit=${limit}`), limit);
    await says(page, 'configuration', new RegExp(`burst=${limit - 1} nodelay`));
    // Keys move the limit to the next usual one; a button returns to the recommended one.
    await page.locator('#graph').focus();
    await page.keyboard.press('ArrowUp');
    await page.waitForFunction((limit) => Number(document.querySelector('#limit').value) > limit, limit);
    await page.locator('#recommend').click();
    await page.waitForFunction((before) => Number(document.querySelector('#limit').value) === before, before);
    await page.waitForFunction(() => !location.hash.includes('limit='));
    await counted(page);
  });

  await test('a marked client is left alone', async () => {
    const office = '203.0.113.10';
    await page.locator('#for').selectOption('exim');
    await says(page, 't-sentence', /^For Exim/);
    await page.waitForFunction(() => document.querySelector('#t-clients tr.refused'));
    const before = Number(await page.locator('#limit').inputValue());
    assert.notEqual((await row(page, office))[3], '0');
    await page.getByLabel(`${office} is legitimate`).check();
    await page.waitForFunction((before) => Number(document.querySelector('#limit').value) > before, before);
    await counted(page);
    await page.waitForFunction(() => document.activeElement?.dataset.key === '203.0.113.10');
    assert.equal((await row(page, office))[3], '0');
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#save-marks').click()]);
    assert.equal(readFileSync(await download.path(), 'utf8'), `${office}\n`);
    await page.getByLabel(`${office} is legitimate`).uncheck();
    await page.waitForFunction((before) => Number(document.querySelector('#limit').value) === before, before);
    // A file of marks can be loaded, with comments in it.
    await page.locator('#load-marks').setInputFiles({ name: 'marks.txt', mimeType: 'text/plain', buffer: Buffer.from(`# ours\n${office} # the office\n`) });
    await page.waitForFunction((before) => Number(document.querySelector('#limit').value) > before, before);
    await page.getByLabel(`${office} is legitimate`).uncheck();
    await counted(page);
  });

  await test("a client's own scope shows its events", async () => {
    const office = '203.0.113.10';
    await page.waitForFunction(() => document.querySelector('#t-clients tr.refused'));
    const [requests, , , refused] = await row(page, office);
    await page.getByRole('button', { name: office, exact: true }).click();
    await page.waitForFunction(() => /refused by/.test(document.querySelector('#scope-counts').textContent));
    assert.equal(await text(page, 'client-title'), office);
    const [allowed, denied] = (await text(page, 'scope-counts')).replaceAll(/\s/g, ' ').match(/^([\d,]+) allowed, ([\d,]+) refused/).slice(1);
    const number = (text) => Number(text.replaceAll(/[ ,]/g, ''));
    assert.equal(number(denied), number(refused));
    assert.equal(number(allowed) + number(denied), number(requests));
    await page.locator('#client-window').selectOption('1h');
    // The button shows the same hour around the peak on both pictures.
    await noteTimes(page);
    await page.locator('#client-peak').click();
    await page.waitForFunction(() => globalThis.times.scope?.size > 2 && globalThis.times.lanes?.size > 2);
    const [red, lanes] = await page.evaluate(() => ['scope', 'lanes'].map((id) => [...globalThis.times[id]].sort()));
    assert.deepEqual(red, lanes);
    // The red, the blue and the dashed line are on the canvas.
    await page.waitForFunction(() => {
      const { width, height } = document.querySelector('#scope');
      const { data } = document.querySelector('#scope').getContext('2d').getImageData(0, 0, width, height);
      const has = (r, g, b) => { for (let i = 0; i < data.length; i += 4) if (data[i] === r && data[i + 1] === g && data[i + 2] === b) return true; };
      return has(0xc2, 0x32, 0x1f) && has(0x1f, 0x63, 0xb5) && has(0x4a, 0x2a, 0x75);
    });
    // So are the lines of four lanes, on a canvas that is high enough for them.
    await page.waitForFunction(() => {
      const canvas = document.querySelector('#lanes');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const has = (r, g, b) => { for (let i = 0; i < data.length; i += 4) if (data[i] === r && data[i + 1] === g && data[i + 2] === b) return true; };
      return canvas.clientHeight > 500 && has(0x01, 0x6a, 0xdd) && has(0x1e, 0x41, 0x00) && has(0xa8, 0x14, 0x4e);
    });
    await page.locator('#lanes').focus();
    await page.keyboard.press('ArrowLeft');
    await says(page, 'lanes-summary', /^1, exim [\d.]+\/1m strict.*\. 4, /);
    await page.locator('#scope').focus();
    await page.keyboard.press('ArrowLeft');
    await says(page, 'scope-summary', /2026-03-0\d \d\d:\d\d:\d\d/);
    await page.locator('#client-close').click();
    assert(await page.locator('#client').isHidden());
    await page.locator('#for').selectOption('nginx');
    await says(page, 't-sentence', /^For nginx/);
  });

  await test('the configuration can be copied', async () => {
    // The button says it for two seconds only, so its texts are noted.
    await page.$eval('#copy-configuration', (button) => {
      globalThis.labels = [];
      new MutationObserver(() => globalThis.labels.push(button.textContent)).observe(button, { childList: true });
    });
    await page.locator('#copy-configuration').click();
    await page.waitForFunction(() => globalThis.labels.includes('Copied'));
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(copied, await text(page, 'configuration'));
    assert.match(copied, /limit_req_zone \$limit_client zone=limit1:10m rate=\d+r\/[sm];/);
  });

  await test('every server has a configuration, or says why not', async () => {
    const servers = {
      haproxy: /stick-table type/, envoy: /local_ratelimit/, descriptors: /requests_per_unit/, traefik: /rateLimit:|Traefik cannot say/,
      caddy: /rate_limit \{/, cloudflare: /requests_per_period/, exim: /ratelimit = /, nftables: /limit rate over/, rust: /ratescope/, fail2ban: /maxretry = /, nginx: /limit_req_zone/,
    };
    assert.deepEqual((await page.$$eval('#for option', (options) => options.map(({ value }) => value))).sort(), Object.keys(servers).sort());
    for (const [server, words] of Object.entries(servers)) {
      await page.locator('#for').selectOption(server);
      await says(page, 'configuration', words);
    }
    await page.locator('#for').selectOption('nginx');
    await page.locator('#by').selectOption('sliding-log');
    assert.match(await says(page, 'configuration', /cannot say/), /^nginx cannot say "sliding-log .*: it has a bucket only/);
    assert(await page.locator('#copy-configuration').isDisabled());
    await page.locator('#by').selectOption('bucket');
    await says(page, 'configuration', /limit_req_zone/);
  });

  await test('the paths and agents that it refuses are told', async () => {
    const refused = Number((await text(page, 't-sentence')).match(/refused ([\d,]+) of/)[1].replaceAll(',', ''));
    const counts = await page.$$eval('#t-agents tr', (rows) => rows.map(({ cells }) => Number(cells[1].textContent.replaceAll(',', ''))));
    assert.equal(counts.reduce((sum, n) => sum + n, 0), refused);
    assert.match(await text(page, 'shown-paths'), /^20 of [\d,]+ shown\.$/);
    assert.match(await text(page, 't-paths'), /^\/static\/img\/\d+\.webp/);
  });

  await test('pictures and table are saved', async () => {
    const saved = async (id) => {
      const [download] = await Promise.all([page.waitForEvent('download'), page.locator(id).click()]);
      return [download.suggestedFilename(), readFileSync(await download.path(), 'utf8')];
    };
    const [name, svg] = await saved('#save-svg');
    assert.equal(name, 'ratescope-tune.svg');
    assert(svg.startsWith('<svg xmlns=') && svg.trimEnd().endsWith('</svg>') && svg.includes('When the limit refuses'));
    const [, csv] = await saved('#save-csv');
    const lines = csv.trimEnd().split('\n');
    assert.equal(lines[0], 'client,marked,requests,peak,peak_at,refused,first_refused');
    assert(lines.length > 5000 && lines[1].startsWith('203.0.113.10,,10101,'), lines[1]);
    assert.match(lines[1].split(',')[4], /^2026-03-0\dT\d\d:\d\d:\d\d\+00:00$/);
    // The command can merge the summary, and then reports the same as if it had read the log.
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#save-summary').click()]);
    assert.equal(download.suggestedFilename(), 'ratescope.tune');
    const reports = [['--merge', await download.path()], ['-']].map((args) => {
      const report = JSON.parse(ratescope(['tune', '--json', '--only', '--period', '1m', ...args], args[0] === '-' ? ratescope(['sample']) : ''));
      return [report.requests, report.clients, report.from, report.to, report.curve, report.recommended];
    });
    assert.deepEqual(reports[0], reports[1]);
    assert(reports[0][0] > 0);
  });

  await test('a peak at the very beginning is seen', async () => {
    const two = (n) => String(n).padStart(2, '0');
    const at = (minute, second) => `192.0.2.7 - - [02/Mar/2026:${12 + (minute / 60 | 0)}:${two(minute % 60)}:${two(second)} +0000] "GET / HTTP/1.1" 200 1\n`;
    const burst = Array.from({ length: 50 }, (_, i) => at(0, i)).join('');
    const quiet = Array.from({ length: 200 }, (_, i) => at(i + 1, 0)).join('');
    await page.locator('#files').setInputFiles({ name: 'a.log', mimeType: 'text/plain', buffer: Buffer.from(burst + quiet) });
    await page.getByRole('button', { name: '192.0.2.7', exact: true }).click();
    await page.locator('#client-window').selectOption('1h');
    await noteTimes(page);
    await page.locator('#client-peak').click();
    // The peak is in the middle, and before it there is nothing.
    await page.waitForFunction(() => globalThis.times.scope?.has('11:50') && globalThis.times.lanes?.has('11:50'));
    await page.locator('#client-close').click();
  });
});
