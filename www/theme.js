// How pictures are to be seen, which is the viewer's to say: light or dark, and with less motion or not.
const button = document.getElementById("theme");
const { dataset } = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");

/** Whether less motion is asked for. */
export const still = matchMedia("(prefers-reduced-motion: reduce)");

/** Uses the browser's store, if it grants one. */
function stored(use) {
  try {
    return use(localStorage);
  } catch {
    return null;
  }
}

/** Puts theme and motion in force in pictures. */
export function dress(pages) {
  const isDark = dataset.theme ? dataset.theme === "dark" : dark.matches;
  button.ariaPressed = String(isDark);
  for (const page of pages) {
    page.theme(isDark);
    page.reduce_motion(still.matches);
  }
}

/** Dresses all pictures now, and whenever something else is asked for. */
export function wireTheme(on, pages) {
  const saved = stored((store) => store.getItem("theme"));
  if (saved) dataset.theme = saved;
  for (const asked of [dark, still]) on(asked, "change", () => dress(pages()));
  on(button, "click", () => {
    dataset.theme = button.ariaPressed === "true" ? "light" : "dark";
    stored((store) => store.setItem("theme", dataset.theme));
    dress(pages());
  });
  dress(pages());
}
