// The page's frames in other engines than Chromium's. An engine that is not installed is left out.

import { browse, ENGINES, missing } from '../tests/engines/driver.mjs';

const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

/** For each installed engine and each page: the frames a second, and the median script time of one, in ms. */
export async function* frames(origin, pages) {
  for (const engine of ENGINES.filter((engine) => engine.name !== 'Chromium' && !missing(engine))) {
    const { driver, close } = await browse(engine);
    try {
      await driver.manage().window().setRect({ width: 1400, height: 1100 });
      for (const page of pages) {
        await driver.get(`${origin}/${page}`);
        await pause(5000);
        await driver.executeScript(() => {
          const request = requestAnimationFrame.bind(window);
          window.spent = [];
          window.began = performance.now();
          window.requestAnimationFrame = (callback) => request((now) => {
            const start = performance.now();
            callback(now);
            window.spent.push(performance.now() - start);
          });
        });
        await pause(8000);
        const [count, seconds, script] = await driver.executeScript(() => {
          const { began, spent } = window;
          const { length } = spent;
          return [length, (performance.now() - began) / 1000, spent.sort((a, b) => a - b)[length >> 1]];
        });
        yield { engine: engine.name, page, rate: count / seconds, script };
      }
    } finally {
      await close();
    }
  }
}
