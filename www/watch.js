// Before anything is seen: the theme that the viewer chose is in force. And says so when what the page is
// made of can't be loaded or read; what happens once it has started, page.js tells.
try {
  const { theme } = localStorage;
  if (theme) document.documentElement.dataset.theme = theme;
} catch {
  // A browser that keeps nothing has no choice to remember.
}

addEventListener("error", ({ target, message }) => {
  const { dataset } = document.documentElement;
  if (dataset.started || (target !== window && target.tagName !== "SCRIPT")) return;
  document.getElementById("failed-why").textContent = message ?? `${target.src} did not load.`;
  document.getElementById("failed").hidden = false;
}, true);

addEventListener("click", ({ target }) => { if (target.closest?.("#restart")) location.reload(); });
