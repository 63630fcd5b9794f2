// Scope: the mode is Exim's. Another limiter that decides has none.
import { $, page, start } from "./page.js";

start({ shown() { $("mode").disabled = page.get("limiter") !== "exim"; } });
