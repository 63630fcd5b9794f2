// The page's frames in the other engines, through WebDriver: WebKit by Debian's webkit2gtk-driver,
// Firefox by geckodriver. One that is not installed is left out.

import { execFileSync, spawn } from 'node:child_process';

// WebKit wants a screen: that of xvfb-run where there is none.
const screen = process.env.DISPLAY ? [] : ['xvfb-run', '-a', '--server-args=-screen 0 1600x1200x24'];
const ENGINES = [
  {
    name: 'WebKit',
    needs: ['WebKitWebDriver', ...screen.slice(0, 1)],
    command: (port) => [...screen, 'WebKitWebDriver', `--port=${port}`],
    capabilities: { 'webkitgtk:browserOptions': { args: ['--automation'] } },
  },
  {
    name: 'Firefox',
    needs: ['geckodriver', 'firefox-esr'],
    command: (port) => ['geckodriver', '--port', port],
    capabilities: { 'moz:firefoxOptions': { binary: '/usr/bin/firefox-esr', args: ['-headless'] } },
  },
];

function isThere(program) {
  try {
    return execFileSync('which', [program], { stdio: 'pipe' }).length > 0;
  } catch {
    return false;
  }
}

const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

/** A browser of that engine: goes to addresses, runs functions in the page. */
async function browse({ command, capabilities }) {
  const port = String(20_000 + Math.floor(20_000 * Math.random()));
  const [program, ...args] = command(port);
  const child = spawn(program, args, { stdio: 'ignore', detached: true });
  const call = async (method, path, body) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, body: body && JSON.stringify(body) });
    const { value } = await answer.json();
    if (value?.error) throw new Error(`${value.error}: ${value.message}`);
    return value;
  };
  const close = () => process.kill(-child.pid);
  try {
    for (let tries = 0; !(await call('GET', '/status').catch(() => undefined)); tries++) {
      if (tries === 100) throw new Error(`${program} does not answer`);
      await pause(100);
    }
    const { sessionId } = await call('POST', '/session', { capabilities: { alwaysMatch: capabilities } });
    const session = `/session/${sessionId}`;
    return {
      size: (width, height) => call('POST', `${session}/window/rect`, { width, height }),
      go: (url) => call('POST', `${session}/url`, { url }),
      run: (body) => call('POST', `${session}/execute/sync`, { script: `return (${body})()`, args: [] }),
      close: () => call('DELETE', session).finally(close),
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** Of each engine that is there and each page: how many frames a second, and how long scripts take in one. */
export async function* frames(origin, pages) {
  for (const engine of ENGINES.filter(({ needs }) => needs.every(isThere))) {
    const browser = await browse(engine);
    try {
      await browser.size(1400, 1100);
      for (const page of pages) {
        await browser.go(`${origin}/${page}`);
        await pause(5000);
        await browser.run(`() => {
          const request = requestAnimationFrame.bind(window);
          window.spent = [];
          window.began = performance.now();
          window.requestAnimationFrame = (callback) => request((now) => {
            const start = performance.now();
            callback(now);
            spent.push(performance.now() - start);
          });
        }`);
        await pause(8000);
        const [count, seconds, script] = await browser.run(`() => {
          const { length } = spent;
          return [length, (performance.now() - began) / 1000, spent.sort((a, b) => a - b)[length >> 1]];
        }`);
        yield { engine: engine.name, page, rate: count / seconds, script };
      }
    } finally {
      await browser.close();
    }
  }
}
