import init from './limiters.js';

await init();

export { Limiter, State, Store } from './freed.js';
