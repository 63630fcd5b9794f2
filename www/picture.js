// Copies to take away: the picture as PNG, ten seconds of it as a film, and the HTML of a frame with the run.
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

/** The length of a film, in milliseconds. */
const FILM = 10_000;

/** Films the picture as it is shown from now on, and saves the film. The button is disabled meanwhile. */
export async function record(graph, button, name) {
  const film = Object.assign(document.createElement("canvas"), { width: graph.width, height: graph.height });
  const context = film.getContext("2d");
  let next;
  const paint = () => {
    // Where nothing is drawn, the picture is transparent.
    context.fillStyle = getComputedStyle(graph.parentElement, "::before").backgroundColor;
    context.fillRect(0, 0, film.width, film.height);
    context.drawImage(graph, 0, 0, film.width, film.height);
    next = requestAnimationFrame(paint);
  };
  const parts = [];
  const text = button.textContent;
  [button.disabled, button.textContent] = [true, "Recording …"];
  const recorder = new MediaRecorder(film.captureStream(), { mimeType: "video/webm" });
  recorder.ondataavailable = ({ data }) => parts.push(data);
  paint();
  recorder.start();
  setTimeout(() => recorder.stop(), FILM);
  await new Promise((done) => { recorder.onstop = recorder.onerror = done; });
  cancelAnimationFrame(next);
  [button.disabled, button.textContent] = [false, text];
  save(name, "video/webm", new Blob(parts));
}

/**
 * Copies the HTML of a frame that shows the run of a link's fragment in a view. Where the browser does not let it, the
 * HTML is saved. Returns what was done.
 */
export async function copyFrame(view, fragment, title) {
  const link = new URL("embed.html", location.href);
  if (view === "compare") link.search = "view=compare";
  link.hash = fragment;
  const frame = Object.assign(document.createElement("iframe"), { src: link.href, width: 600, height: 320, title, loading: "lazy" });
  frame.style.cssText = "border: 0; max-width: 100%";
  try {
    await navigator.clipboard.writeText(frame.outerHTML);
    return "Copied";
  } catch {
    save(`ratescope-${view}.html`, "text/html", frame.outerHTML);
    return "Saved";
  }
}
