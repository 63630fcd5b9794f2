// Logs that real servers wrote are read on the page as independent readers read them: crates/ratescope-log/tests/it/log/real.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { pageTest } from './harness.mjs';
import { choose, counted, row, says, tune } from './tune.mjs';

const real = (file) => readFileSync(new URL(`../../crates/ratescope-log/tests/it/log/real/${file}`, import.meta.url));
const rows = real('expected.tsv').toString().trim().split('\n').slice(1).map((line) => line.split('\t'));

for (const file of ['docker-jsonfile-nginx.log', 'haproxy-stdout.httplog.log', 'journal-export.log', 'kubernetes-cri-nginx.log', 'squid-native.log']) {
  pageTest(`${file} is read as it is`, async ({ page, open }) => {
    const [, events, clients, , , each] = rows.find(([name]) => name === file);
    await tune(page, open);
    await choose(page, [`${file}.gz`, real(`${file}.gz`)]);
    await says(page, 't-read', new RegExp(`^${events} .+ from ${clients} clients`));
    await counted(page);
    // IPv6 addresses are left out: the page shows their networks, which have other names.
    for (const [ip, count] of each.split(' ').map((client) => client.split('=')).filter(([ip]) => !ip.includes(':'))) {
      assert.equal((await row(page, ip))?.[0], count, ip);
    }
  });
}
