import { readFileSync } from 'node:fs';
import { initSync } from './limiters.js';

initSync({ module: readFileSync(new URL('./limiters_bg.wasm', import.meta.url)) });

export { Limiter, State, Store } from './freed.js';
