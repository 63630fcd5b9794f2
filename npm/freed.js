// An object that was freed, or that `new State()` made, has no memory in the module. The module would throw at each use
// of it, and each time keep a part of its stack: after ten thousand uses it would do nothing any more. So the error is
// thrown before the module is entered.

import { Limiter, State, Store } from './limiters.js';

for (const type of [Limiter, State, Store]) {
  const { prototype } = type;
  const release = prototype.__destroy_into_raw;
  Object.defineProperty(prototype, '__wbg_ptr', {
    get() { throw new Error(`this ${type.name} was freed, or never made`); },
    set(value) { Object.defineProperty(this, '__wbg_ptr', { value, writable: true, configurable: true }); },
  });
  prototype.__destroy_into_raw = function () {
    const pointer = release.call(this);
    delete this.__wbg_ptr;
    return pointer;
  };
}

export { Limiter, State, Store };
