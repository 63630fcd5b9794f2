// Modules that fail on purpose.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { root } from './launch.mjs';

// Makes an exported function of one of the page's modules trap, as a panic does.
export const trap = (page, module, name) => page.route(`**/${module}`, (route) => route.fulfill({
  body: trapping(readFileSync(`${root}www/pkg/${module}`), name),
  contentType: 'application/wasm',
}));

// The bytes of a module in which the exported function `name` does nothing but trap.
function trapping(wasm, name) {
  const bytes = Uint8Array.from(wasm);
  const leb = (at) => {
    for (let value = 0, shift = 0; ; shift += 7, at++) {
      value += (bytes[at] & 127) << shift;
      if (bytes[at] < 128) return [value, at + 1];
    }
  };
  const sections = {};
  for (let at = 8, id, size; at < bytes.length; at += size) {
    id = bytes[at];
    [size, at] = leb(at + 1);
    sections[id] = at;
  }
  // Imported functions have the first indices; those with code come after them.
  const imports = WebAssembly.Module.imports(new WebAssembly.Module(wasm)).filter(({ kind }) => kind === 'function').length;
  let [count, at] = leb(sections[7]);
  let index;
  for (; count > 0; count--) {
    let length;
    [length, at] = leb(at);
    const exported = new TextDecoder().decode(bytes.slice(at, at + length));
    const kind = bytes[at + length];
    let item;
    [item, at] = leb(at + length + 1);
    if (exported === name && kind === 0) index = item - imports;
  }
  assert(index >= 0, `the module has no ${name}`);
  [, at] = leb(sections[10]);
  let [size, body] = leb(at);
  for (; index > 0; index--) [size, body] = leb(body + size);
  // The body keeps its size: no locals (0), then `unreachable` (0) in each byte up to `end`.
  bytes.fill(0, body, body + size - 1);
  return Buffer.from(bytes);
}
