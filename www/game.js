// The game: the viewer is a client with 40 requests, and has 30 seconds. It is a run like any other, which the Scope plays
// while its viewer clicks. A link with ?game replays the clicks that it has, or begins a game of your own.
import { $, on, open, page } from "./page.js";

/** How many requests have to get through, and within how many seconds. */
const [WANTED, SECONDS] = [40, 30];

/** The settings of the game. With others it is over. */
const rules = { limiter: "exim", limit: "12", decay: "10s", mode: "strict", auto: "off", speed: "1" };

/** The link of the run before the game, or an empty text. */
let before = "";

/** Whether the game is on, whether the clicks are those of a link, and whether the time is over. */
let isOn = false, isReplay, isOver;

/** The clicks of a link, without anything else that it does. */
function clicksOf(hash) {
  const commands = new URLSearchParams(hash.slice(1)).get("do")?.split(",") ?? [];
  return commands.filter((it) => /^[\d.]+:events(\*\d+)?$/.test(it)).join();
}

const say = (text) => { $("game-said").textContent = text; };

/** Begins the game, or plays the clicks of a link to one. */
function begin(hash = "") {
  const clicks = clicksOf(hash);
  if (!isOn) before = location.search === "?game" ? "" : `#${page.recording()}`;
  [isOn, isReplay, isOver] = [true, clicks !== "", false];
  const settings = Object.entries({ ...rules, window: `${SECONDS}s`, at: SECONDS }).map((it) => it.join("=")).join("&");
  const fragment = `${settings}&paused${clicks && `&do=${clicks}`}`;
  history.replaceState(null, "", `?game#${fragment}`);
  open();
  page.play(fragment, 0, SECONDS);
  page.flag([SECONDS]);
  $("playing").hidden = false;
  $("game-again").textContent = isReplay ? "Your turn" : "Again";
  say(isReplay ? "These are somebody else’s clicks. Can you do better?" : `Get ${WANTED} requests through in ${SECONDS} s. Each click sends one, and refused ones count, too.`);
  $("graph").focus({ preventScroll: true });
}

/** Begins it again, without the clicks of a link. Returns whether the game is on. */
export function again() {
  if (isOn) begin();
  return isOn;
}

/** Leaves the run to the viewer. */
function leave() {
  isOn = false;
  $("playing").hidden = true;
  history.replaceState(history.state, "", location.pathname + location.hash);
}

/** After settings changed. */
export function shown() {
  if (isOn && Object.entries(rules).some(([name, value]) => page.get(name) !== value)) leave();
}

/** After each frame: tells how it went once the time is over. */
export function drawn() {
  if (!isOn || isOver || page.passed() === 0) return;
  isOver = true;
  const [passed, refused] = ["allowed", "refused"].map((id) => Number($(id).dataset.value));
  const also = `${refused === 0 ? "none" : refused} ${refused === 1 ? "was" : "were"} refused.`;
  if (passed >= WANTED) say(`${isReplay ? "Done" : "You did it"}. ${passed} got through in ${SECONDS} s, and ${also}`);
  else {
    const why = refused > 5 ? "Refused ones count, too, so wait until the line is below the limit." : "There was room for more. Click as soon as the line is below the limit.";
    say(`${passed} of ${WANTED} got through, and ${also} ${why}`);
  }
}

function close() {
  leave();
  history.replaceState(null, "", location.pathname + before);
  open();
  $("game").focus({ preventScroll: true });
}

/** Wires the game once the page has started, and begins that of a link. */
export async function wire() {
  await undefined;
  on($("game"), "click", () => begin());
  on($("game-again"), "click", () => begin());
  on($("game-close"), "click", close);
  on($("playing"), "keydown", ({ key }) => { if (key === "Escape") close(); });
  // A scenario has other settings, so the game is over by now.
  on(window, "hashchange", () => { if (isOn) begin(location.hash); });
  if (location.search === "?game") begin(location.hash);
}
