// Runs the tests of the page, or those of the files named, in several processes, each with one browser and
// one server. There is one process more than processors, since some wait while others work.
//
//   node tests/e2e/run.mjs [FILE...]
//
// Each process takes the next file when it is through with one. Its report is printed when it ends, but the
// reports of processes with a failure come last. With E2E_AGAIN=1, for a shared machine whose network may
// change under a browser, the files that failed are tried once more, in one process.

import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

// Stands for the file of a process that failed without naming one.
const UNKNOWN = '?';
const here = fileURLToPath(new URL('.', import.meta.url));
const { RATESCOPE_TAKEN: taken } = process.env;
const named = process.argv.slice(2).map((file) => basename(file));
const files = named.length > 0 ? named : readdirSync(here).filter((file) => file.endsWith('.test.mjs'));

// Takes a file for this process; returns false if another process has taken it.
function takes(file) {
  try {
    writeFileSync(join(taken, file), '', { flag: 'wx' });
    return true;
  } catch {
    return false;
  }
}

if (taken) {
  const { failures, finished, within } = await import('./harness.mjs');
  // All files are parts of one test, so that the browser is kept until the last file is through.
  test('the page', async (t) => {
    within(t);
    for (const file of files) {
      if (!takes(file)) continue;
      const start = performance.now();
      await import(pathToFileURL(join(here, file)));
      await finished();
      if (failures.splice(0).length > 0) appendFileSync(join(taken, `failed-${process.pid}`), `${file}\n`);
      console.error(`${file}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
    }
  });
} else {
  const failed = await tried(named, availableParallelism() + 1);
  const again = process.env.E2E_AGAIN === '1' && !failed.includes(UNKNOWN) ? failed : [];
  if (again.length > 0) console.log(`Once more: ${again.join(', ')}`);
  process.exitCode = (again.length > 0 ? await tried(again, 1) : failed).length > 0 ? 1 : 0;
}

// Tries the files in some processes, and returns those that failed.
async function tried(files, processes) {
  const folder = mkdtempSync(join(tmpdir(), 'ratescope-e2e-'));
  const args = ['--test-reporter=spec', process.argv[1], ...files];
  const env = { ...process.env, RATESCOPE_TAKEN: folder };
  const run = () => new Promise((done) => {
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const said = [];
    child.stdout.on('data', (text) => said.push(text));
    child.on('close', (code) => {
      const report = Buffer.concat(said);
      if (code === 0) process.stdout.write(report);
      const list = join(folder, `failed-${child.pid}`);
      const noted = existsSync(list) ? readFileSync(list, 'utf8').trim().split('\n') : [UNKNOWN];
      done(code === 0 ? {} : { report, noted });
    });
  });
  const done = await Promise.all(Array.from({ length: processes }, run));
  rmSync(folder, { recursive: true });
  for (const { report } of done) process.stdout.write(report ?? '');
  return done.flatMap(({ noted }) => noted ?? []);
}
