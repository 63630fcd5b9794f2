// Reads logs and counts for the Tune view, beside the page: with an instance of the module of its own.
// What it is told waits until that is loaded. It sends what it finds, and nothing leaves this machine.
import load, { Tuner } from "./pkg/ratescope.js";

let tuner;

/** What came before the module was there. */
let early = [];

addEventListener("message", ({ data }) => { if (early) early.push(data); else take(data); });

/** Whatever goes wrong, the page is told. */
const guard = (promise) => promise.catch((error) => postMessage({ failed: String(error?.stack ?? error) }));

guard(load().then(() => {
  tuner = new Tuner();
  const waiting = early;
  early = null;
  waiting.forEach(take);
}));

/** A number a reading: one that is no longer the last is given up. */
let reading = 0;

const orders = {
  read: ({ logs }) => read(logs, ++reading),
  cancel() {
    reading++;
    tuner.cancel();
    postMessage({ cancelled: true });
  },
  ask({ fragment, marks }) {
    tuner.ask(fragment, marks);
    count();
  },
  events: ({ key }) => postMessage({ events: tuner.events(key), key, by: tuner.lanes() }),
  csv: () => postMessage({ csv: tuner.csv() }),
};

function take(order) {
  guard((async () => orders[order.do](order))());
}

/** How much is read at once, in bytes. */
const PIECE = 1 << 22;

/** How often the page is told how far it is, in milliseconds. */
const OFTEN = 100;

async function read(logs, number) {
  const of = logs.reduce((sum, { blob }) => sum + (blob?.size ?? 0), 0);
  const start = performance.now();
  const problems = [];
  let [before, told, bytes] = [0, start, 0];
  const progress = (at, name) => {
    const now = performance.now();
    if (now - told < OFTEN) return;
    told = now;
    postMessage({ progress: { name, at: before + at, of, bytes, lines: tuner.lines(), seconds: (now - start) / 1e3 } });
  };
  tuner.begin(Date.now());
  for (const { name, blob } of logs) {
    let problem = "";
    try {
      if (blob) {
        for await (const [piece, at] of pieces(blob)) {
          if (number !== reading) return;
          problem = tuner.feed(piece);
          if (problem) break;
          bytes += piece.length;
          progress(at, name);
        }
      } else {
        while (tuner.sample()) {
          await turn();
          if (number !== reading) return;
          progress(0, name);
        }
      }
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) throw error;
      // Half a packed file is what it is: what came before counts.
      problem = `after ${tuner.lines()} lines: ${wrong(error)}`;
      tuner.end();
    }
    if (number !== reading) return;
    problem ||= tuner.end();
    if (problem) problems.push({ name, problem });
    before += blob?.size ?? 0;
  }
  const found = tuner.finish();
  postMessage({ read: { found, problems, bytes, seconds: (performance.now() - start) / 1e3 } });
  count();
}

/** What a browser says of a file that it can't read or unpack. */
function wrong(error) {
  if (error.name === "NotReadableError") return "the file can't be read; it may have changed, or be gone";
  if (error instanceof TypeError) return `what is packed is damaged or ends early (${error.message})`;
  return error.message;
}

/** The pieces of a log, unpacked, each with how far it is in the file. */
async function* pieces(blob) {
  const [a, b] = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
  if (a === 0x1f && b === 0x8b) {
    let at = 0;
    const count = new TransformStream({ transform(piece, to) { at += piece.length; to.enqueue(piece); } });
    const unpacked = blob.stream().pipeThrough(count).pipeThrough(new DecompressionStream("gzip")).getReader();
    for (let next; !(next = await unpacked.read()).done;) yield [next.value, at];
    return;
  }
  // The next piece comes while this one is looked at.
  const slice = (from) => blob.slice(from, from + PIECE).arrayBuffer();
  let next = slice(0);
  for (let at = 0; at < blob.size; at += PIECE) {
    const piece = new Uint8Array(await next);
    if (at + PIECE < blob.size) next = slice(at + PIECE);
    yield [piece, Math.min(at + PIECE, blob.size)];
  }
}

/** Lets messages in. */
const channel = new MessageChannel();
const turns = [];
channel.port1.onmessage = () => turns.shift()();
const turn = () => new Promise((next) => { turns.push(next); channel.port2.postMessage(0); });

/** How long it counts before messages are let in, in milliseconds. */
const SLICE = 12;

let counting = false;

/** Counts until nothing is left to do, and sends the answer as it comes. */
async function count() {
  if (counting) return;
  counting = true;
  for (let [done, told] = [false, 0]; !done;) {
    const start = performance.now();
    do { done = tuner.work(20_000); } while (!done && performance.now() - start < SLICE);
    if (done || start - told > OFTEN) {
      told = start;
      answer();
    }
    // What was asked meanwhile is done as well, before this ends.
    await turn();
    if (done) done = tuner.work(0);
  }
  counting = false;
}

function answer() {
  postMessage({
    answer: {
      said: tuner.said(), steps: tuner.steps(), advice: tuner.advice(), bursts: tuner.bursts(),
      hours: tuner.hours(), counted: tuner.counted(), periods: tuner.periods(), table: tuner.table(), configuration: tuner.configuration(),
    },
  });
}
