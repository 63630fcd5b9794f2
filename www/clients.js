// Clients that try again: their controls write a phase of the script, as in `10 clients of 20 retry every 1s`, and below
// the lanes a table tells how the jobs went.
import { $, changed, on, page, wrong } from "./page.js";

/** The first phase of a script with clients. */
const phase = /(?:^|,)\s*(\d+) clients? of (\d+)([^,]*)/;

/** The words of a phase that have no control. */
const kept = / (?:answer|at(?! once)|cost|user) \S+/g;

/** The words after `retry`: the way, its wait, factor and most, and the jitter. */
const way = /retry (never|at once|every|exponential|retry-after)(?: (?!full|equal|x|most)(\S+))?(?: x(\S+))?(?: most (\S+))?(?: (full|equal|decorrelated))?/;

/** The script that the controls show. */
let written;

/** Puts the clients of the controls into the script, in place of its first ones; `target` was changed. */
function write({ target }) {
  const value = (name) => $(`clients-${name}`).value.trim();
  const script = page.get("script");
  const more = phase.exec(script)?.[3].match(kept)?.join("") ?? "";
  const [retry, jitter] = [value("retry"), value("jitter") && ` ${value("jitter")}`];
  const how = {
    every: ` ${value("wait")}${jitter}`,
    exponential: ` ${value("wait")} x${value("factor")} most ${value("most")}${jitter}`,
    "retry-after": jitter,
  };
  const pause = ["", "0", "0s"].includes(value("pause")) ? "" : ` pause ${value("pause")}`;
  const job = `${value("count")} client${value("count") === "1" ? "" : "s"} of ${value("requests")}${value("together") === "1" ? "" : ` together ${value("together")}`}${pause}${more} retry ${retry}${how[retry] ?? ""}`;
  const others = script.replace(phase, "").replace(/^\s*,\s*/, "");
  const error = page.set("script", !retry ? others : phase.test(script) ? script.replace(phase, (all) => (all.startsWith(",") ? `, ${job}` : job)) : [job, others].filter(Boolean).join(", "));
  const controls = [...$("clients").querySelectorAll("input, select")];
  const at = controls.find((it) => it.ariaInvalid === "true") ?? target;
  for (const it of controls) wrong(it, "");
  wrong(at, error);
  changed();
}

/** Brings the controls and the rows of the table up to date. */
export function shownClients() {
  const script = page.get("script");
  const isNew = script !== written;
  written = script;
  const [job, count, requests, rest = ""] = phase.exec(script) ?? [];
  const [, retry = "", wait, factor, most, jitter = ""] = (job && way.exec(rest)) || [];
  const said = { count, requests, retry, wait, factor, most, jitter, together: job && (/together (\d+)/.exec(rest)?.[1] ?? "1"), pause: job && (/pause (\S+)/.exec(rest)?.[1] ?? "0s") };
  // The box that is being written in keeps its text, and all of them do while something is wrong, unless the script has
  // changed.
  const isWrong = $("clients").querySelector('[aria-invalid="true"]');
  for (const [name, value] of Object.entries(said)) {
    const it = $(`clients-${name}`);
    if (value !== undefined && (isNew || (!isWrong && it !== document.activeElement))) it.value = value;
  }
  $("clients").dataset.retry = $("clients-retry").value;
  $("jobs").hidden = !job;
  if (!job) return;
  const body = $("jobs").querySelector("tbody");
  const lanes = page.get("lanes").split(";").length;
  while (body.rows.length > lanes) body.deleteRow(-1);
  while (body.rows.length < lanes) {
    const row = body.insertRow();
    const n = body.rows.length;
    row.innerHTML = `<th scope="row">${n} <span id="job-${n}"></span></th>`;
    for (let m = 1; m <= 7; m++) row.insertCell().id = `job-${n}-${m}`;
  }
}

/** Wires the controls. */
export function wireClients() {
  on($("clients"), "change", write);
}
