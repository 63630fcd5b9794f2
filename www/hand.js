// The store of this browser for logs: one for those that are dropped on another view, while the page changes to Tune, and
// one for those that Tune shows, until they are forgotten. Nothing leaves the browser.

/** Does something with the store of logs; resolves to the result of the request that `step` returns. */
const within = (step) => new Promise((done, fail) => {
  const request = indexedDB.open("handed", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("logs");
  request.onerror = () => fail(request.error);
  request.onsuccess = () => {
    const transaction = request.result.transaction("logs", "readwrite");
    const asked = step(transaction.objectStore("logs"));
    transaction.oncomplete = () => { request.result.close(); done(asked.result); };
    transaction.onerror = transaction.onabort = () => fail(transaction.error);
  };
});

/** The logs that were dropped: files, or else lines of text. */
export function dropped({ files, text }, name = "The dropped lines") {
  if (files.length > 0) return [...files].map((file) => ({ name: file.name, blob: file }));
  return text ? [{ name, blob: new Blob([text]) }] : [];
}

/** Puts logs in the store and opens Tune. */
export async function hand(logs) {
  await within((store) => store.put(logs, "logs"));
  location.href = "tune.html#handed";
}

/** Takes the logs that another view handed over out of the store. */
export async function handed() {
  const logs = await within((store) => store.get("logs"));
  await within((store) => store.delete("logs"));
  return logs ?? [];
}

/** The most bytes of logs that are kept. */
const MOST = 256e6;

/** How long they are kept, in milliseconds: a day. */
const LONG = 864e5;

/** Keeps logs under an id, with Tune's notes about them, in place of those before. Returns whether they are kept. */
export async function keep(id, logs, more) {
  const bytes = logs.reduce((sum, { blob }) => sum + (blob?.size ?? 0), 0);
  await clear();
  if (bytes > MOST) return false;
  await within((store) => { store.put(more, "more"); return store.put({ id, logs, at: Date.now() }, "kept"); });
  return true;
}

/** Does something with the store if the logs of an id are kept. Those of another tab may have taken their place. */
const ifKept = (id, step) => within((store) => {
  const asked = store.get("kept");
  asked.onsuccess = () => { if (asked.result?.id === id) step(store); };
  return asked;
});

/** Keeps Tune's notes about the logs of an id. */
export const keepMore = (id, more) => ifKept(id, (store) => store.put(more, "more"));

/** Forgets the logs of an id. */
export const forget = (id) => ifKept(id, (store) => store.clear());

/** Forgets all logs. */
const clear = () => within((store) => store.clear());

/** The logs that are kept under an id, and Tune's notes about them; undefined if they are gone. */
export async function recall(id) {
  const { logs, at, ...kept } = await within((store) => store.get("kept")) ?? {};
  const age = Date.now() - at;
  if (age < 0 || age > LONG) await clear();
  else if (logs && kept.id === id) return { logs, more: await within((store) => store.get("more")) };
  return undefined;
}
