// Before any other script, but with all of the page there: says so when what the page is made of can't
// be loaded or read. What happens once it has started, page.js tells.
addEventListener("error", ({ target, message }) => {
  const { dataset } = document.documentElement;
  if (dataset.started || (target !== window && target.tagName !== "SCRIPT")) return;
  document.getElementById("failed-why").textContent = message ?? `${target.src} did not load.`;
  document.getElementById("failed").hidden = false;
}, true);

addEventListener("click", ({ target }) => { if (target.closest?.("#restart")) location.reload(); });
