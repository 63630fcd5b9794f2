// The picture, to take away: as PNG for a message, as SVG for an article.

/** Pixels of the PNG in a CSS pixel. */
const SCALE = 2;

/** The SVG text as a PNG. */
async function png(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [SCALE * image.naturalWidth, SCALE * image.naturalHeight];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => { canvas.toBlob(done, "image/png"); });
}

/** Saves a file. */
function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Copies the picture as PNG. Where the browser does not let it, the picture is saved. Returns what was done. */
export async function copyPicture(svg, name) {
  const made = png(svg);
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": made })]);
    return "Copied";
  } catch {
    save(await made, `${name}.png`);
    return "Saved";
  }
}

/** Saves the picture as SVG. */
export const savePicture = (svg, name) => save(new Blob([svg], { type: "image/svg+xml" }), `${name}.svg`);
