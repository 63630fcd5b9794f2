// Other engines than Chromium's, driven through WebDriver: WebKit by Debian's webkit2gtk-driver,
// Firefox by geckodriver, and Chromium itself by chromedriver.

import { execFileSync, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { Builder } from 'selenium-webdriver';

// WebKit wants a screen: that of xvfb-run where there is none.
const screen = process.env.DISPLAY ? [] : ['xvfb-run', '-a', '--server-args=-screen 0 1600x1200x24'];
const firefox = process.env.FIREFOX ?? '/usr/bin/firefox-esr';
const chrome = process.env.CHROME ?? '/usr/bin/chromium';

export const ENGINES = [
  {
    name: 'WebKit',
    needs: ['WebKitWebDriver', ...screen.slice(0, 1)],
    command: (port) => [...screen, 'WebKitWebDriver', `--port=${port}`],
    capabilities: { browserName: 'MiniBrowser', 'webkitgtk:browserOptions': { args: ['--automation'] } },
  },
  {
    name: 'Firefox',
    needs: ['geckodriver', firefox],
    command: (port) => ['geckodriver', '--port', port],
    capabilities: { browserName: 'firefox', 'moz:firefoxOptions': { binary: firefox, args: ['-headless'] } },
  },
  {
    name: 'Chromium',
    needs: ['chromedriver', chrome],
    command: (port) => ['chromedriver', `--port=${port}`],
    capabilities: {
      browserName: 'chrome',
      'goog:chromeOptions': { binary: chrome, args: ['--headless=new', '--no-sandbox', '--disable-dev-shm-usage'] },
    },
  },
];

/** The first of the programs that an engine needs and that is not there. */
export function missing({ needs }) {
  return needs.find((program) => {
    try {
      execFileSync('which', [program], { stdio: 'pipe' });
      return false;
    } catch {
      return true;
    }
  });
}

const freePort = () => new Promise((done) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address();
    server.close(() => done(String(port)));
  });
});

/** A browser of that engine, as Selenium drives it, and a function that ends both it and its driver. */
export async function browse({ name, command, capabilities }) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const [program, ...args] = command(port);
  const child = spawn(program, args, { stdio: 'ignore', detached: true });
  const stop = () => process.kill(-child.pid);
  try {
    for (let tries = 0; !(await fetch(`${url}/status`).catch(() => undefined)); tries++) {
      if (child.exitCode !== null || tries === 600) throw new Error(`${name}: ${program} does not answer`);
      await new Promise((done) => { setTimeout(done, 100); });
    }
    const driver = await new Builder().usingServer(url).withCapabilities(capabilities).build();
    return { driver, close: () => driver.quit().finally(stop) };
  } catch (error) {
    stop();
    throw error;
  }
}
