// Modules that fail on purpose.

import assert from 'node:assert/strict';

// The module with one of its functions doing nothing but to trap, as a panic does.
export function trapping(wasm, name) {
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
  // Imported functions (kind 0) have the first indices; then come those with code.
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
  // Keep the size; no locals, then `unreachable` up to `end`.
  bytes.fill(0, body, body + size - 1);
  return Buffer.from(bytes);
}
