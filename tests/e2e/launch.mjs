// The site and a browser, for tests and benchmarks.
//
// The site is served by the program $RATESCOPE, or by the one last built under target/. The browser
// is $CHROME, which may be Chromium's headless shell, or /usr/bin/chromium. The scripts build everything and
// set both.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

export const root = fileURLToPath(new URL('../../', import.meta.url));

// Starts `ratescope serve` on a free port, for the folder www or as the arguments say, in the folder `cwd`.
// Returns its origin, and close().
export async function startServer(args = ['--dir', 'www'], cwd = root) {
  const { line, close } = await start(['serve', '--port', '0', ...args], cwd);
  return { origin: line.match(/http:\/\/\S+/)[0], close };
}

// Starts `ratescope run` with a rule file. Returns the addresses of its HTTP port and its admin port, and
// close().
export async function startService(rules, ...args) {
  const ports = ['--grpc', 'off', '--http', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--notice', '0s'];
  const { line, close } = await start(['run', ...ports, ...args, rules], root);
  const [, http, port] = line.match(/HTTP at (\S+), admin at http:\/\/(\S+),/);
  await hasPage(`http://${port}`, close);
  return { http, admin: port, close };
}

// Starts `ratescope simulate --live` of a log on a free port. Returns the address of its page, and close().
export async function startReplay(log, ...args) {
  const { line, close } = await start(['simulate', '--live', '--port', '0', ...args, log], root);
  const [url] = line.match(/http:\/\/\S+/);
  await hasPage(url, close);
  return { url, close };
}

// Fails at once if the program that serves Live has no page in it, for which a browser would wait for minutes.
async function hasPage(url, close) {
  const { ok } = await fetch(new URL('pkg/ratescope_page_bg.wasm', url), { method: 'HEAD' });
  if (ok) return;
  await close();
  throw new Error(`${program()} was built without the page: run ./scripts/build, and build it again`);
}

// The output of `ratescope simulate` about a log: an object for each event.
export const simulate = (limiter, log) =>
  execFileSync(program(), ['simulate', '--format', 'jsonl', limiter], { input: log, stdio: ['pipe', 'pipe', 'ignore'] })
    .toString().trim().split('\n').map((line) => JSON.parse(line));

// Starts a command of the program. Returns the first line that it prints, and close().
async function start(args, cwd) {
  const child = spawn(program(), args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  for await (const line of createInterface({ input: child.stdout })) {
    return {
      line,
      async close() {
        child.kill('SIGINT');
        await exited;
      },
    };
  }
  throw new Error(`ratescope ${args[0]} ended before it printed its address`);
}

function program() {
  if (process.env.RATESCOPE) return process.env.RATESCOPE;
  const built = ['debug', 'release']
    .map((profile) => `${root}target/${profile}/ratescope`)
    .map((path) => ({ path, time: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .sort((a, b) => b.time - a.time);
  assert(built[0].time > 0, 'no ratescope under target/: ./scripts/test e2e builds it');
  return built[0].path;
}

// Starts Playwright's browser, with the flags of webdriver.json and those of `more`.
export function launchBrowser(...more) {
  const { args } = JSON.parse(readFileSync(`${root}webdriver.json`))['goog:chromeOptions'];
  return chromium.launch({
    executablePath: process.env.CHROME ?? '/usr/bin/chromium',
    args: [...args, ...more],
  });
}
