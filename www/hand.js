// Hands logs that are dropped on another view to Tune. They wait in a store of this browser while the
// page changes, and Tune takes them out of it: nothing stays there, and nothing leaves the browser.

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
  await within((store) => store.clear());
  return logs ?? [];
}
