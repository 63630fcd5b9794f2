// Runs the tests of the page, or those of the files named, with one browser and one server for each
// process, of which there are a few: as many as processors, and one that works while others wait.
//
//   node tests/e2e/run.mjs [FILE...]
//
// Each process takes the next file when it is through with one. Its report is printed when it ends, and
// that of a process with a failure last. With E2E_AGAIN=1, as on a shared machine whose network may change
// under a browser, a file that failed is tried once more by itself.

import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

// A process that failed, but no file of it.
const UNKNOWN = '?';
const here = fileURLToPath(new URL('.', import.meta.url));
const { RATESCOPE_TAKEN: taken } = process.env;
const named = process.argv.slice(2).map((file) => basename(file));
const files = named.length > 0 ? named : readdirSync(here).filter((file) => file.endsWith('.test.mjs'));

// Whether a file is this process's to test: it is the first to say so.
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
  // Within one test, which keeps the browser until the last file is through.
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

// Tries the files in some processes, and says which failed.
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
