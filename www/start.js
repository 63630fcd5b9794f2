// Scope: the parts that belong to the limiter in force, and the game.
import * as module from "./pkg/ratescope_page.js";
import * as game from "./game.js";
import { $, page, start } from "./page.js";

/** Shows the sentence about the limiter in force, and enables only settings that have an effect. */
function shown() {
  const limiter = page.get("limiter");
  const [kind] = limiter.includes("&") ? [""] : limiter.split(/[ /]/);
  const isExim = limiter === "exim";
  const name = isExim ? `exim ${page.get("limit") === "0" ? "free" : page.get("mode")}` : kind;
  const gists = [...document.querySelectorAll(".gist")];
  const its = ({ dataset }) => (isExim ? dataset.for === name : dataset.for.split(" ").includes(name));
  const gist = gists.find(its) ?? gists.at(-1);
  for (const it of gists) it.hidden = it !== gist;
  // The mode is Exim’s, and some limiters have a limit of their own.
  $("mode").closest(".field").hidden = !isExim;
  const moves = page.moves_limit();
  for (const it of [$("limit"), ...document.querySelectorAll('[data-step="limit"]')]) it.disabled = !moves;
  [$("limit-own").hidden, $("limit-zero").hidden] = [moves, !moves];
  game.shown();
}

start(module, { wire: game.wire, shown, drawn: game.drawn, replays: game.again });
