// Before all else: says so when what the page is made of can't be loaded or read. What happens once it
// has started, page.js tells.
addEventListener("error", ({ target, message }) => {
  const { dataset } = document.documentElement;
  if (dataset.started || (target !== window && target.tagName !== "SCRIPT")) return;
  const show = () => {
    document.getElementById("failed-why").textContent = message ?? `${target.src} did not load.`;
    document.getElementById("failed").hidden = false;
  };
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", show);
  else show();
}, true);

addEventListener("click", ({ target }) => { if (target.closest?.("#restart")) location.reload(); });
