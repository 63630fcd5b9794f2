// Runs the tests of the page, or those of the files named, in several processes, each with one browser and
// one server. There is one process more than processors, since some wait while others work.
//
//   node tests/e2e/run.mjs [FILE...]
//
// Each process takes the next file when it is through with one. Its report is printed when it ends, but the
// reports of processes with a failure come last. The tests with the real clock, clock.mjs, run only when it is named.

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

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
  const { finished, within } = await import('./harness.mjs');
  // All files are parts of one test, so that the browser is kept until the last file is through.
  test('the page', async (t) => {
    within(t);
    for (const file of files) {
      if (!takes(file)) continue;
      const start = performance.now();
      await import(pathToFileURL(join(here, file)));
      await finished();
      console.error(`${file}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
    }
  });
} else {
  const folder = mkdtempSync(join(tmpdir(), 'ratescope-e2e-'));
  const args = ['--test-reporter=spec', process.argv[1], ...named];
  const env = { ...process.env, RATESCOPE_TAKEN: folder };
  const run = () => new Promise((done) => {
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const said = [];
    child.stdout.on('data', (text) => said.push(text));
    child.on('close', (code) => {
      const report = Buffer.concat(said);
      if (code === 0) process.stdout.write(report);
      done(code === 0 ? undefined : report);
    });
  });
  const failed = (await Promise.all(Array.from({ length: availableParallelism() + 1 }, run))).filter(Boolean);
  rmSync(folder, { recursive: true });
  for (const report of failed) process.stdout.write(report);
  process.exitCode = failed.length > 0 ? 1 : 0;
}
