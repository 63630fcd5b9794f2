// Keys of the page that no picture knows: full screen, and the list of the keys.
const help = document.getElementById("help");

/** Puts the graph and its sentence on the whole screen, or ends that. Some browsers have no full screen. */
function fill(stage) {
  if (document.fullscreenElement) document.exitFullscreen();
  else stage.requestFullscreen?.().catch(() => {});
}

/** Wires the keys, which do nothing where somebody writes. */
export function wireKeys(graph, on) {
  if (!help) return;
  on(document, "keydown", ({ key, target, ctrlKey, altKey, metaKey, repeat }) => {
    const writes = target.matches("input:not([type=checkbox], [type=range]), select");
    if (ctrlKey || altKey || metaKey || repeat || writes || help.open) return;
    if (key === "?") help.showModal();
    if (key === "[") document.getElementById("story-before")?.click();
    if (key === "]") document.getElementById("story-after")?.click();
    if (key.toLowerCase() === "f") fill(graph.closest(".stage"));
    if (key.toLowerCase() === "m") document.getElementById("sound")?.click();
  });
}
