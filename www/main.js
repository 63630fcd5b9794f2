// The Scope: one limiter, measured.
import load, { Page } from "./pkg/ratescope.js";
import { start } from "./shared.js";

start({
  load,
  View: Page,
  boxes: ["decay", "increase", "limit", "auto-rate", "seed"],
  selects: ["mode", "pattern", "speed", "window"],
  ticks: ["auto", "exact"],
});
