// Keeps the page for when there is no network, or a server that only fails. Otherwise every file comes from the
// network, so that the page is never an old one. The build lists the files of a version in pkg/files.js; another list is
// another version, which replaces what was kept.
importScripts("pkg/files.js");

/* global files, version */
const kept = `ratescope-${version}`;

async function keep() {
  const cache = await caches.open(kept);
  // The browser asks whether a file that the page has just loaded has changed, and only then loads it again.
  await cache.addAll(files.map((file) => new Request(file, { cache: "no-cache" })));
  // If a newer version came meanwhile, what was loaded may be of both: the browser tries again at the next visit.
  const list = await fetch("pkg/files.js", { cache: "no-cache" });
  if (!(await list.text()).includes(`"${version}"`)) throw new Error("there is a newer version");
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
