// The page in a real browser, one fresh browser context a test.
//
//   import { pageTest } from './harness.mjs';
//
//   pageTest('a click is an event', { viewport: { width: 360, height: 640 } }, async ({ page, open }) => {
//     await open('/#decay=1m');
//     ...
//   });
//
// pageTest(name, options, body), or pageTest(name, body), is node:test's test(). Its options are
// those of Playwright's newContext (viewport, colorScheme, reducedMotion, deviceScaleFactor,
// hasTouch, ...) and `allow`, a list of regular expressions. The body is given
//
//   page      a Playwright page, still empty
//   context   the Playwright context it is in
//   origin    "http://127.0.0.1:PORT"
//   open(path = '/')   goes to that path of the site
//   problems  what has gone wrong so far, as texts
//   test(name, body)   a part of the test, reported by its own name; await it. Parts share the
//                      page, which takes longer to open than most of what is done on it
//
// The test fails if at its end there are problems that `allow` does not match: a warning or error
// on the console, an uncaught exception, a request to another origin.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { launchBrowser, startServer } from './launch.mjs';

// One server and one browser for each process, started by its first test.
let shared;

// The tests that were begun, a function that waits until they are through, and the test of which they are
// parts, if any.
const begun = [];
export const finished = () => Promise.all(begun.splice(0));
let all = { test };
export const within = (t) => { all = t; };

function share() {
  shared ??= [startServer(), launchBrowser()];
  return Promise.all(shared);
}

after(async () => {
  // allSettled and not all: if one of them did not start, the other must still be closed.
  for (const { value } of await Promise.allSettled(shared ?? [])) await value?.close();
});

export function pageTest(name, ...rest) {
  const body = rest.pop();
  const { allow = [], ...options } = rest.pop() ?? {};
  begun.push(all.test(name, { timeout: 600_000 }, async (t) => {
    const [{ origin }, browser] = await share();
    // The service worker asks for files when it likes, so only its own tests have it.
    const context = await browser.newContext({ serviceWorkers: 'block', ...options });
    context.setDefaultTimeout(240_000); // less than the test's, so that the error tells which step hangs
    try {
      const problems = watch(context, origin);
      const page = await context.newPage();
      const open = (path = '/') => page.goto(origin + path);
      const test = (name, body) => t.test(name, body);
      await body({ page, context, origin, open, problems, test });
      await page.title().catch(() => {}); // once it answers, all earlier messages of the page have arrived
      const unexpected = problems.filter((text) => !allow.some((pattern) => pattern.test(text)));
      assert.deepEqual(unexpected, [], 'the browser reported problems');
    } finally {
      await context.close();
    }
  }));
}

// Returns the list to which the problems of every page in the context are added.
function watch(context, origin) {
  const problems = [];
  context.on('console', (message) => {
    if (message.text().startsWith('Service Worker registration blocked')) return;
    if (['warning', 'error', 'assert'].includes(message.type())) {
      problems.push(`console ${message.type()}: ${message.text()} (${message.location().url})`);
    }
  });
  context.on('weberror', (error) => problems.push(`uncaught: ${error.error()}`));
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && !['data:', 'blob:'].includes(url.protocol)) {
      problems.push(`request to another origin: ${url.href}`);
    }
  });
  return problems;
}
