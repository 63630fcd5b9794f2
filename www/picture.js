// The picture as PNG, to take away.
import { save } from "./page.js";

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

/** Copies the picture as PNG. Where the browser does not let it, the picture is saved. Returns what was done. */
export async function copyPicture(svg, name) {
  const made = png(svg);
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": made })]);
    return "Copied";
  } catch {
    save(name, "image/png", await made);
    return "Saved";
  }
}
