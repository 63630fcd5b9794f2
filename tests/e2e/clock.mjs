// The real clock, which no other test reads: ./scripts/test clock. It compares the times of frames with the numbers
// written in them, however far apart the frames are.

import assert from 'node:assert/strict';
import { pageTest } from './harness.mjs';
import { loaded } from './scope.mjs';

pageTest('in the time of the real clock', async ({ page, open }) => {
  await open('/#pattern=steady&auto-rate=1000&limit=0');
  await loaded(page);
  // The time of the frame in which at least `enough` events are written, and their number.
  const written = (enough) => page.evaluate((enough) => new Promise((done) => {
    const allowed = document.querySelector('#allowed');
    new MutationObserver((_, observer) => {
      if (Number(allowed.dataset.value) < enough) return;
      observer.disconnect();
      done([document.timeline.currentTime, Number(allowed.dataset.value)]);
    }).observe(allowed, { attributes: true });
  }), enough);
  const [from, before] = await written(0);
  const [to, after] = await written(before + 600);
  assert(Math.abs((to - from) - (after - before)) <= 2, `${after - before} events in ${to - from} ms`);
});
