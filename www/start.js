// A view with nothing of its own in JavaScript.
import { start } from "./page.js";

start();
