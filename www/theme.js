// How the viewer wants to see pictures: light or dark, and with less motion or not.
const button = document.getElementById("theme");
const { dataset } = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");
const paper = matchMedia("print");

/** Whether less motion is asked for. */
export const still = matchMedia("(prefers-reduced-motion: reduce)");

/** Uses a store of the browser by its name; null if the browser grants none. */
export function stored(name, use) {
  try {
    return use(globalThis[name]);
  } catch {
    return null;
  }
}

/** Applies the theme and the motion that are asked for to pictures. On paper they are light. */
export function dress(pages) {
  const isDark = dataset.theme ? dataset.theme === "dark" : dark.matches;
  if (button) button.ariaPressed = String(isDark);
  for (const page of pages) {
    page.theme(isDark && !paper.matches);
    page.reduce_motion(still.matches);
  }
}

/** Dresses all pictures now, and whenever something else is asked for. watch.js has read the stored choice. */
export function wireTheme(on, pages) {
  for (const asked of [dark, still, paper]) on(asked, "change", () => dress(pages()));
  dress(pages());
  // In a frame nobody chooses.
  if (!button) return;
  on(button, "click", () => {
    const theme = button.ariaPressed === "true" ? "light" : "dark";
    // The system's own theme is no choice: the page follows the system again.
    if ((theme === "dark") === dark.matches) {
      delete dataset.theme;
      stored("localStorage", (store) => store.removeItem("theme"));
    } else {
      dataset.theme = theme;
      stored("localStorage", (store) => store.setItem("theme", theme));
    }
    dress(pages());
  });
  // The choice may be made on another page, or while the browser keeps this one for Back.
  const follow = () => {
    stored("localStorage", ({ theme }) => {
      if (theme) dataset.theme = theme;
      else delete dataset.theme;
    });
    dress(pages());
  };
  on(window, "storage", follow);
  on(window, "pageshow", ({ persisted }) => { if (persisted) follow(); });
}
