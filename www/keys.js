// Keys of the page that no picture knows: full screen, and the list of the keys.
const help = document.getElementById("help");

/** Puts the graph and its sentence on the whole screen, or ends that. Some browsers have no full screen. */
function fill(stage) {
  if (document.fullscreenElement) document.exitFullscreen();
  else stage.requestFullscreen?.().catch(() => {});
}

/** Shows the keys over the page, as its end has them. */
function show() {
  if (!help.querySelector("ul")) help.querySelector("form").before(document.querySelector(".keys").cloneNode(true));
  help.showModal();
}

/** Wires the keys, which do nothing where somebody writes. */
export function wireKeys(graph, on) {
  if (!help) return;
  on(document, "keydown", ({ key, target, ctrlKey, altKey, metaKey, repeat }) => {
    const writes = target.matches("input:not([type=checkbox], [type=range]), select");
    if (ctrlKey || altKey || metaKey || repeat || writes || help.open) return;
    if (key === "?") show();
    if (key.toLowerCase() === "f") fill(graph.closest(".stage"));
    if (key.toLowerCase() === "m") document.getElementById("sound")?.click();
  });
}
