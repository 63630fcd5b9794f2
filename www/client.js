// The events of one client or key: under the Scope, and through several limiters.
import { $, join, on } from "./page.js";

/** The two pictures, made when the first client is opened. */
let scope;
let lanes;

/** Gives both pictures the window that is chosen. */
const look = () => { for (const it of [scope, lanes]) it.set("window", $("client-window").value); };

/** Opens the section for the client `name`. Until its limiter is known, its events are only measured, over `period`. */
export function openClient(name, period) {
  $("client").hidden = false;
  $("client-title").textContent = name || "(none)";
  scope ??= join($("scope"), "client");
  lanes ??= join($("lanes"), "client-lanes");
  for (const [name, value] of [["limiter", "exim"], ["limit", "0"], ["decay", period]]) scope.set(name, value);
  look();
  $("client").scrollIntoView({ block: "nearest" });
}

/** Sets the limiters: the limit of lanes without one of their own, the lanes, and the limiter of the Scope. */
export function decideClient(limit, list, limiter = list.split(";")[0]) {
  lanes.set("limit", limit);
  lanes.set("lanes", list);
  scope.set("limiter", limiter);
}

/** The verdicts of the service about the events that are shown next, 1 for a refusal: the Scope shows these. */
export const tellVerdicts = (verdicts) => scope.put("verdicts", verdicts);

/** Says that there were events before those that are shown: the lanes of Compare warm up first. */
export const beginLate = () => lanes.put("late", []);

/**
 * Shows the events of the client, two numbers each: microseconds since 1970 and the cost. `settings` are
 * those of a link to Compare, if there can be one. `until`, if known, is the time up to which the events are
 * complete.
 */
export function showClient(events, settings, until) {
  $("lanes").style.height = `${lanes.height(0)}px`;
  for (const it of [scope, lanes]) {
    it.put("events", events);
    if (until) it.put("until", [until]);
  }
  $("client-compare").hidden = !settings;
  if (settings) $("client-compare").hash = recorded(events, settings);
}

/** The most of a client that a link to Compare holds: a time in microseconds, and a number of events. */
const [LONGEST, MOST] = [1.8e9, 2000];

/**
 * The fragment of a link to Compare with the busiest half hour of a client. The times count from its first
 * event, every event has the cost 1, and nothing tells who the client was.
 */
function recorded(events, settings) {
  const times = events.filter((_, i) => i % 2 === 0);
  let [from, best] = [0, 0];
  for (let [i, to] = [0, 0]; i < times.length; i++) {
    while (to < times.length && times[to] - times[i] <= LONGEST) to++;
    if (to - i > best) [from, best] = [i, to - i];
  }
  const kept = times.slice(from, from + Math.min(best, MOST));
  if (kept.length === 0) return settings;
  const counts = new Map();
  for (const time of kept) {
    const second = (1 + (time - kept[0]) / 1e6).toFixed(6).replace(/\.?0+$/, "");
    counts.set(second, (counts.get(second) ?? 0) + 1);
  }
  const list = [...counts].map(([second, n]) => `${second}:events${n > 1 ? `*${n}` : ""}`);
  return `${settings}&auto=off&at=${Math.ceil(2 + (kept.at(-1) - kept[0]) / 1e6)}&paused&do=${list.join(",")}`;
}

/** Wires the buttons beside the pictures. */
export function wireClient() {
  on($("client-window"), "change", look);
  on($("client-peak"), "click", () => lanes.show(scope.show()));
}
