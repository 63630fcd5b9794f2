// Lists what a module must keep for the pages: all of its exports but those of the Workers. `wasm-metadce` reads
// the list, and takes out what nothing in it reaches.

import { readFileSync, writeFileSync } from 'node:fs';

const [module, list] = process.argv.slice(2);
const exported = WebAssembly.Module.exports(new WebAssembly.Module(readFileSync(module)));
const kept = exported.map(({ name }) => name).filter((name) => !/tuner|configuration/.test(name));
writeFileSync(list, JSON.stringify([
  { name: 'the page', root: true, reaches: kept },
  ...kept.map((name) => ({ name, export: name })),
]));
