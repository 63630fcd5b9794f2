// Scope: the mode is Exim's. Another limiter that decides has none.
import * as module from "./pkg/ratescope_page.js";
import { $, page, start } from "./page.js";

start(module, { shown() { $("mode").disabled = page.get("limiter") !== "exim"; } });
