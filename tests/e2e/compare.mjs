// Shared by the tests of the Compare page: its lanes, their texts and their places.

import { readFileSync } from 'node:fs';
import { root } from './launch.mjs';
import { plot, settle, visit } from './scope.mjs';

// A link to a run without automatic events, in which time stands still.
export const quiet = 'auto=off&at=5&paused';

// Opens the comparison at a fragment.
export const compare = (page, open, fragment = '') => visit(page, open, '/compare.html', fragment);

// The numbers of events that every lane allowed and refused.
export const counts = (page) => page.$$eval('.lane', (lanes) => lanes.map((_, i) =>
  ['allowed', 'judged'].map((name) => Number(document.getElementById(`${name}-${i + 1}`).dataset.value)))
  .map(([passed, judged]) => [passed, judged - passed]));

// The number of events that every lane allowed.
export const allowed = async (page) => (await counts(page)).map(([n]) => n);

// How many events were sent.
export const sent = (page) => page.$eval('#sent', (output) => Number(output.dataset.value));

// The texts in the boxes of all lanes.
export const rules = (page) => page.$$eval('.lane input', (boxes) => boxes.map((box) => box.value));

// The box of lane `n`, from 1, which its pencil opens.
export const lane = (page, n) => page.locator('.lane input').nth(n - 1);
export async function opened(page, n) {
  if (!await lane(page, n).isVisible()) await page.locator('.lane .pencil').nth(n - 1).click();
  return lane(page, n);
}

// The place in the window of a point of the canvas, both in CSS pixels; the page is scrolled to its top.
export const place = (page, x, y) => page.$eval('#graph', (graph, [x, y]) => {
  scrollTo(0, 0);
  const box = graph.getBoundingClientRect();
  return [box.x + graph.clientLeft + x, box.y + graph.clientTop + y];
}, [x, y]);

// A click in lane `n`, in the middle of the plots.
export async function click(page, n = 1, times = 1) {
  const { left, right } = await plot(page);
  const second = await page.$eval('#graph', (graph) => graph.clientWidth).then(more);
  const [x, y] = await place(page, (left + right) / 2, await pitch(page) * (n - 1) + HEAD + second + 30);
  for (let i = 0; i < times; i++) await page.mouse.click(x, y);
  await settle(page);
}

// Numbers from view/compare.rs of ratescope-lab. Those of the strips and the level below are from its layout.rs.
const source = readFileSync(`${root}crates/ratescope-lab/src/view/compare.rs`, 'utf8');
const constant = (name) => Number(source.match(new RegExp(`const ${name}: f64 = ([\\d.]+);`))[1]);
export const [HEAD, PITCH, TALL] = ['HEAD', 'PITCH', 'TALL'].map(constant);

// How much larger HEAD and PITCH are on a canvas of that width.
export const more = (width) => (width < 480 ? constant('SECOND_ROW') : 0);

// The distance from lane to lane, which is larger on a screen with more room.
export const pitch = (page) => page.$eval('.screen', (screen) => Number(screen.style.getPropertyValue('--pitch')));

// The y in a lane of the edges of its level and of the middles of its crosses and bars, if lanes are `pitch`
// apart.
const STRIP = 11;
export const parts = (pitch) => ({
  level: { top: HEAD + STRIP + 1, bottom: pitch - 1 - STRIP - 1 },
  refused: HEAD + STRIP / 2,
  allowed: pitch - 1 - STRIP / 2,
});

// The colours of the lanes from the palette's source, each as { light, dark }.
const palette = readFileSync(`${root}crates/ratescope-lab/src/plot/palette.rs`, 'utf8').match(/const LANES[^=]*= \[([^;]*)\];/)[1];
export const laneInks = [...palette.matchAll(/\["(#\w+)", "(#\w+)"\]/g)].map(([, light, dark]) => ({ light, dark }));

// A window that is tall enough for eight whole lanes.
export const tall = { viewport: { width: 1280, height: 1080 } };

// The colour of a custom property, as "#rrggbb".
export const property = (page, name) => page.evaluate((name) => {
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.color = `var(${name})`;
  const rgb = getComputedStyle(probe).color.match(/\d+/g).map(Number);
  probe.remove();
  return `#${rgb.map((c) => c.toString(16).padStart(2, '0')).join('')}`;
}, name);

// Follows a scenario of the list.
export async function scenario(page, name) {
  if (!await page.locator('#scenarios').isVisible()) await page.locator('#list').click();
  await page.getByRole('link', { name, exact: true }).click();
}
