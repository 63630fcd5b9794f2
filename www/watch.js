// Puts the theme in force that the viewer chose or, in a frame, that its link asks for, before anything is seen. Shows a message if a file of the page
// can't be loaded or read; once the page has started, page.js tells what goes wrong.
//
// It stands last in the head: while a browser waits for it, it asks for nothing that comes later.
const { dataset } = document.documentElement;
try {
  const theme = "framed" in dataset ? new URLSearchParams(location.search).get("theme") : localStorage.theme;
  if (["light", "dark"].includes(theme)) dataset.theme = theme;
} catch {
  // A browser that keeps nothing has no choice to remember.
}

// If the address names a run, the page does not show its own opening run before it.
if (location.hash) dataset.linked = "";

addEventListener("error", ({ target, message }) => {
  if (dataset.started || (target !== window && target.tagName !== "SCRIPT")) return;
  document.getElementById("failed-why").textContent = message ?? `${target.src} did not load.`;
  document.getElementById("failed").hidden = false;
}, true);

addEventListener("click", ({ target }) => { if (target.closest?.("#restart")) location.reload(); });
