// The page works without a network after the first visit, and is never older than the one on the network.

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pageTest } from './harness.mjs';
import { root, startServer } from './launch.mjs';
import { started, until } from './scope.mjs';

// These tests are about requests that fail, and one has a server of its own.
const options = { serviceWorkers: 'allow', allow: [/ERR_INTERNET_DISCONNECTED/, /ERR_FAILED/, /status of 503/, /another origin: http:\/\/127\.0\.0\.1:/] };

const types = { html: 'text/html', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml', wasm: 'application/wasm' };

// Waits until the service worker answers for this page and keeps exactly one version, not `other`; returns
// its name.
async function kept(page, other) {
  await page.evaluate((other) => {
    globalThis.kept = undefined;
    (async () => {
      while (!navigator.serviceWorker.controller) await new Promise((next) => { setTimeout(next, 50); });
      for (let names; !globalThis.kept; await new Promise((next) => { setTimeout(next, 50); })) {
        names = await caches.keys();
        if (names.length === 1 && names[0] !== other) globalThis.kept = names[0];
      }
    })();
  }, other);
  await until(page, () => globalThis.kept !== undefined);
  return page.evaluate(() => globalThis.kept);
}

pageTest('all views work without a network after the first visit', options, async ({ page, context, open }) => {
  await open('/');
  await started(page);
  await kept(page);
  await context.setOffline(true);
  for (const path of ['/', '/compare.html#lanes=gcra', '/story.html', '/embed.html?view=compare', '/tune.html']) {
    await open(path);
    await started(page);
    assert.equal(await page.locator('#failed').isVisible(), false, path);
  }
  // The module that reads logs is kept as well.
  await page.click('#sample');
  await until(page, () => document.querySelector('#t-sentence').dataset.value === '1');
});

pageTest('a server that only fails is no server: what is kept is shown', options, async ({ page, context }) => {
  let isFailing = false;
  const server = createServer(({ url }, response) => {
    const path = url === '/' ? '/index.html' : new URL(url, 'http://localhost').pathname;
    if (isFailing) response.statusCode = 503;
    response.setHeader('content-type', types[path.split('.').at(-1)] ?? 'text/plain');
    response.end(isFailing ? 'out of order' : readFileSync(`${root}www${path}`));
  });
  await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
  try {
    await page.goto(`http://127.0.0.1:${server.address().port}`);
    await started(page);
    await kept(page);
    isFailing = true;
    for (const path of ['/', '/compare.html#lanes=gcra', '/tune.html?from=elsewhere', '/story.html']) {
      const response = await page.goto(`http://127.0.0.1:${server.address().port}${path}`);
      assert.equal(response.status(), 200, path);
      await started(page);
      assert.equal(await page.locator('#failed').isVisible(), false, path);
    }
    // A file that is not kept is answered by the server.
    assert.equal(await page.evaluate(async () => (await fetch('elsewhere')).status), 503);
  } finally {
    await context.close();
    server.close();
  }
});

pageTest('a new version is seen at once, and takes the place of the old one', options, async ({ page, context, test: part }) => {
  const www = mkdtempSync(join(tmpdir(), 'ratescope-www-'));
  cpSync(`${root}www`, www, { recursive: true });
  const server = await startServer(['--dir', www]);
  try {
    await page.goto(server.origin);
    await started(page);
    const first = await kept(page);
    const html = readFileSync(join(www, 'index.html'), 'utf8').replace('<title>', '<title>Newer, ');
    writeFileSync(join(www, 'index.html'), html);

    await part('nothing old is shown while there is a network', async () => {
      await page.reload();
      assert.match(await page.title(), /^Newer, /);
    });

    await part('what is kept is of the new version only', async () => {
      const files = readFileSync(join(www, 'pkg/files.js'), 'utf8');
      const hash = createHash('sha256').update(html).digest('hex');
      const newer = files.replace(/version = ".*"/, 'version = "newer"').replace(/(".\/(?:index.html)?"): ".*"/g, `$1: "${hash}"`);
      writeFileSync(join(www, 'pkg/files.js'), newer);
      await page.reload();
      await started(page);
      await page.evaluate(() => { navigator.serviceWorker.getRegistration().then((it) => it.update()); });
      assert.equal(await kept(page, first), 'ratescope-newer');
      await context.setOffline(true);
      await page.reload();
      await started(page);
      assert.match(await page.title(), /^Newer, /);
    });
  } finally {
    await context.close(); // first, since the server would wait for its connections
    await server.close();
    rmSync(www, { recursive: true });
  }
});

pageTest('what is kept is never of two versions', options, async ({ page, context }) => {
  // While it moves, each worker that has begun to load the files meets a newer version in between.
  let [version, isMoving] = [1, true];
  const server = createServer(({ url }, response) => {
    const path = url === '/' ? '/index.html' : new URL(url, 'http://localhost').pathname;
    if (path === '/tune.html' && isMoving) version += 1; // which only a worker asks for
    const file = readFileSync(`${root}www${path}`);
    response.setHeader('content-type', types[path.split('.').at(-1)] ?? 'text/plain');
    if (path === '/tune.html' && isMoving) return response.end(`${file}<!-- of version ${version} -->`);
    return response.end(path === '/pkg/files.js' ? String(file).replace(/version = ".*"/, `version = "${version}"`) : file);
  });
  await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
  const end = () => page.evaluate(async () => {
    const it = await navigator.serviceWorker.register('offline.js');
    const worker = it.installing ?? it.waiting ?? it.active;
    while (!['redundant', 'activated'].includes(worker.state)) await new Promise((next) => { worker.onstatechange = next; });
    return worker.state;
  });
  try {
    await page.goto(`http://127.0.0.1:${server.address().port}`);
    assert.equal(await end(), 'redundant');
    isMoving = false;
    assert.equal(await end(), 'activated');
    assert.equal(await kept(page), `ratescope-${version}`);
  } finally {
    await context.close();
    server.close();
  }
});

// As the page of a network that asks for a login, or of a host while it publishes a version.
pageTest('what a network sends in place of a file is not kept', options, async ({ page, context }) => {
  let isOther = true;
  const server = createServer(({ url }, response) => {
    const path = url === '/' ? '/index.html' : new URL(url, 'http://localhost').pathname;
    const isPage = isOther && path === '/tune.js';
    response.setHeader('content-type', isPage ? 'text/html' : types[path.split('.').at(-1)] ?? 'text/plain');
    response.end(isPage ? '<p>Log in first.</p>' : readFileSync(`${root}www${path}`));
  });
  await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
  try {
    await page.goto(`http://127.0.0.1:${server.address().port}`);
    const end = () => page.evaluate(async () => {
      const it = await navigator.serviceWorker.register('offline.js');
      const worker = it.installing ?? it.waiting ?? it.active;
      while (!['redundant', 'activated'].includes(worker.state)) await new Promise((next) => { worker.onstatechange = next; });
      return worker.state;
    });
    assert.equal(await end(), 'redundant');
    isOther = false;
    assert.equal(await end(), 'activated');
    await kept(page);
    await context.setOffline(true);
    await page.goto(`http://127.0.0.1:${server.address().port}/tune.html`);
    await started(page);
  } finally {
    await context.close();
    server.close();
  }
});

test('the list of what is kept has every file of the page', () => {
  const said = readFileSync(`${root}www/pkg/files.js`, 'utf8');
  const { files } = new Function(`${said}; return { files, version };`)();
  for (const page of ['index', 'compare', 'tune']) {
    const html = readFileSync(`${root}www/${page}.html`, 'utf8');
    const named = [...html.matchAll(/(?:src|href)="([\w./-]+\.(?:js|css|svg|html|webmanifest))"/g)].map(([, file]) => `./${file}`);
    for (const file of named) assert(file in files, `${page}.html needs ${file}`);
  }
});
