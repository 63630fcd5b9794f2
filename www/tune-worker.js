// Reads logs and counts for the Tune view, beside the page, with the page's module. Orders wait until that
// is loaded. It sends its results to the page, and nothing leaves this machine.
let tuner, module;

/** The orders that came before the module was loaded; null once it is. */
let early = [];

addEventListener("message", ({ data }) => { if (early) early.push(data); else take(data); });

/** Tells the page if the promise fails. */
const guard = (promise) => promise.catch((error) => postMessage({ failed: String(error?.stack ?? error) }));

/** `wasm-pack build` makes only one module, with everything. */
const glue = () => import("./pkg/ratescope_tune.js").catch(() => import("./pkg/ratescope_page.js"));

guard(glue().then(async (loaded) => {
  await loaded.default();
  module = loaded;
  tuner = new module.Tuner();
  const waiting = early;
  early = null;
  waiting.forEach(take);
}));

/** The number of the latest reading; those before it are given up. */
let reading = 0;

/** The content of the table: clients whose key contains a text, and how many of them at most. */
let shown = { search: "", most: 50 };

const orders = {
  read: ({ logs }) => read(logs, ++reading),
  cancel() {
    reading++;
    tuner.cancel();
    postMessage({ cancelled: true });
  },
  ask({ fragment, marks, stop }) {
    tuner.ask(fragment, marks, stop);
    count();
  },
  table(wanted) {
    shown = wanted;
    answer();
  },
  events: ({ key }) => postMessage({ events: tuner.events(key), key, by: tuner.lanes() }),
  csv: () => postMessage({ csv: tuner.csv() }),
  summary: () => postMessage({ summary: tuner.summary() }),
};

function take(order) {
  guard((async () => orders[order.do](order))());
}

/** The bytes of a log that the module gets at once: few enough to stay in a cache until they are read again. */
const BITE = 1 << 17;

/** How often the page is told how far the reading or the count is, in milliseconds. */
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
    if (logs.length > 1) tuner.name(name);
    try {
      if (blob) {
        for await (const [piece, at] of pieces(blob)) {
          if (number !== reading) return;
          for (let from = 0; from < piece.length && !problem; from += BITE) {
            problem = tuner.feed(piece.subarray(from, from + BITE));
          }
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
      // A packed file may be damaged: the lines before the damage count.
      problem = `after ${tuner.lines()} lines: ${wrong(error)}`;
      tuner.end();
    }
    if (number !== reading) return;
    problem ||= tuner.end();
    if (problem) problems.push({ name, problem });
    before += blob?.size ?? 0;
  }
  const none = tuner.finish();
  const configuration = none && await configured(logs);
  if (number !== reading) return;
  postMessage({ read: { none, configuration, problems, proposal: tuner.proposal(), server: tuner.server(), period: tuner.period(), bytes, seconds: (performance.now() - start) / 1e3 } });
  count();
}

/** The longest configuration of a server, in bytes. */
const LONGEST = 1 << 20;

/** The text of a file given in place of a log, if it is the configuration of a server; otherwise an empty text. */
async function configured([{ blob }, ...others]) {
  if (!blob || others.length > 0 || blob.size > LONGEST) return "";
  const text = await blob.text().catch(() => "");
  return module.is_configuration(text) ? text : "";
}

/** The message about a file that the browser can't read or unpack. */
function wrong(error) {
  if (error instanceof DOMException) return "it can't be read: it may be a folder, have changed, or be gone";
  if (error instanceof TypeError) return `what is packed is damaged or ends early (${error.message})`;
  return error.message;
}

/** The pieces of a log, unpacked, each with the number of bytes of the file up to its end. */
async function* pieces(blob) {
  const [a, b] = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
  if (a === 0x1f && b === 0x8b) {
    yield* unpacked(blob);
    return;
  }
  for await (const [piece, from] of chunks(blob)) yield [piece, from + piece.length];
}

/** The most bytes of a file that are read at once: as many as Chromium has ready while those before are being used. */
const CHUNK = 1 << 21;

/** Some engines call a file that has gone an error of the network, as if its content were damaged. */
const gone = () => { throw new DOMException("", "NotReadableError"); };

/**
 * The chunks of a file as they come, each with the place in the file where it begins. The next chunk overwrites
 * it, except in engines that read files in memory of their own choice only.
 */
async function* chunks(blob) {
  const stream = blob.stream();
  let reader, into;
  try {
    reader = stream.getReader({ mode: "byob" });
    into = new Uint8Array(CHUNK);
  } catch {
    reader = stream.getReader();
  }
  try {
    for (let from = 0, next; !(next = await reader.read(into).catch(gone)).done; from += next.value.length) {
      yield [next.value, from];
      into &&= new Uint8Array(next.value.buffer);
    }
  } finally {
    // If no more is wanted, no more is read.
    reader.cancel().catch(() => {});
  }
}

/**
 * The unpacked pieces of a gzip file. It may be several in one: rotated logs put together, or a file by bgzip. A
 * browser unpacks the first and takes the rest for damage, so each is unpacked by itself.
 */
async function* unpacked(blob) {
  const starts = await members(blob);
  for (let i = 0, end = 1; i < starts.length - 1; i = end++) {
    for (let given = 0; ;) {
      let [at, out] = [starts[i], 0];
      const count = new TransformStream({ transform(piece, to) { at += piece.length; to.enqueue(piece); } });
      const part = blob.slice(starts[i], starts[end]).stream();
      const reader = part.pipeThrough(count).pipeThrough(new DecompressionStream("gzip")).getReader();
      try {
        for (let next; !(next = await reader.read()).done;) {
          const known = Math.max(given - out, 0);
          out += next.value.length;
          if (out > given) yield [next.value.subarray(known), at];
          given = Math.max(given, out);
        }
        break;
      } catch (error) {
        // The next beginning may be bytes within this one that only look like one. Then it is unpacked again,
        // up to the beginning after that, and the bytes given before are left out. That two look so is taken
        // for damage.
        if (end === starts.length - 1 || end > i + 1) throw error;
        end++;
      }
    }
  }
}

/** The places in a file where gzip members begin, or may begin, and the end of the file. */
async function members(blob) {
  const starts = [];
  const first = 10; // bytes of a member's header
  let rest = new Uint8Array();
  for await (const [piece, from] of chunks(blob)) {
    const bytes = new Uint8Array(rest.length + piece.length);
    bytes.set(rest);
    bytes.set(piece, rest.length);
    for (let at = -1; (at = bytes.indexOf(0x1f, at + 1)) >= 0 && at + first <= bytes.length;) {
      // The magic number, the method deflate, known flags, the effort of the compression, and the system.
      const [, magic, method, flags, , , , , effort, system] = bytes.subarray(at, at + first);
      if (magic === 0x8b && method === 8 && flags < 32 && [0, 2, 4].includes(effort) && (system < 14 || system === 255)) {
        starts.push(from - rest.length + at);
      }
    }
    rest = bytes.slice(Math.max(0, bytes.length - first + 1));
  }
  if (starts[0] !== 0) starts.unshift(0);
  return [...starts, blob.size];
}

/** `turn()` resolves when the messages that wait have been taken. */
const channel = new MessageChannel();
const turns = [];
channel.port1.onmessage = () => turns.shift()();
const turn = () => new Promise((next) => { turns.push(next); channel.port2.postMessage(0); });

/** How long it counts before it takes messages, in milliseconds. */
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
    // An order that came meanwhile may have made more to count.
    await turn();
    if (done) done = tuner.work(0);
  }
  counting = false;
}

function answer() {
  postMessage({
    answer: {
      said: tuner.said(), picture: tuner.picture(), periods: tuner.periods(), table: tuner.table(shown.search, shown.most), labels: [tuner.labels(0, 20), tuner.labels(1, 20)], configuration: tuner.configuration(), outliers: tuner.outliers(),
    },
  });
}
