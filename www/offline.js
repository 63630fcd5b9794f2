// Keeps the page for when there is no network, or a server that only fails. Otherwise every file comes from the
// network, so that the page is never an old one. The build lists the files of a version in pkg/files.js, each with the
// SHA-256 of its bytes; another list is another version, which replaces the kept one.
importScripts("pkg/files.js");

/* global files, version */
const kept = `ratescope-${version}`;

/** The type that a browser wants a file to have, by the end of its name; for others any type will do. */
const types = { html: "text/html", js: "text/javascript", css: "text/css" };

/** The SHA-256 of the bytes of a response. */
async function hash(response) {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", await response.arrayBuffer()));
  return bytes.reduce((text, byte) => text + byte.toString(16).padStart(2, "0"), "");
}

/** Puts a file into the cache. A page that a network sends in its place, to log in for example, is not kept. */
async function keepFile(cache, [file, wanted]) {
  // The browser asks whether a file that the page has just loaded has changed, and only then loads it again.
  const response = await fetch(file, { cache: "no-cache" });
  const type = types[file === "./" ? "html" : file.split(".").at(-1)];
  const isOfType = !type || response.headers.get("content-type")?.startsWith(type);
  if (!response.ok || !isOfType || await hash(response.clone()) !== wanted) throw new Error(`${file} is not that of the list`);
  await cache.put(file, response);
}

async function keep() {
  const cache = await caches.open(kept);
  await Promise.all(Object.entries(files).map((it) => keepFile(cache, it)));
  await skipWaiting();
}

async function tidy() {
  const old = (name) => name.startsWith("ratescope-") && name !== kept;
  await Promise.all((await caches.keys()).filter(old).map((name) => caches.delete(name)));
  await clients.claim();
}

async function answer(request) {
  const find = () => caches.match(request, { cacheName: kept, ignoreSearch: true });
  try {
    const response = await fetch(request);
    return (response.status >= 500 && (await find())) || response;
  } catch (error) {
    const found = await find();
    if (found) return found;
    throw error;
  }
}

addEventListener("install", (event) => event.waitUntil(keep()));
addEventListener("activate", (event) => event.waitUntil(tidy()));
addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method === "GET" && url.startsWith(registration.scope)) event.respondWith(answer(event.request));
});
