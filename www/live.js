// Live: a running service. It tells the sums of its rules, which the module draws, and the busiest keys. A
// key that is pressed is watched: its events come, too, and are shown as Tune shows those of a client.
import { beginLate, decideClient, openClient, showClient, tellVerdicts, wireClient } from "./client.js";
import { hand } from "./hand.js";
import { $, on, page, start } from "./page.js";
import * as module from "./pkg/ratescope_page.js";
import { stored } from "./theme.js";

/** The id of the last message, and the name of the process that sent it. */
let last = "";
let probe;

/** The rules, each a name, its limits and whether it is a shadow; the time of the last report; and its sums, three for each rule. */
let rules = [];
let now;
let sums = [];

/** The key that is watched, its events, two numbers each, and for each of them 1 if the service refused it, else 0. */
let key;
let events = [];
let verdicts = [];

/** The most characters of a message; the service sends far fewer. */
const LONGEST = 1 << 22;

/** The most events of a key that are kept here. */
const MOST = 20_000;

/** How many events of the key were lost on the way. */
let lost = 0;

/** The word for the state while messages come: that this is a service at work, or a replay of a log. */
let doing = "Live";

let token = stored("sessionStorage", (store) => store.getItem("ratescope-token")) ?? "";

/** The request that is open, and whether a service is known to answer. */
let request;
let isHere = false;

const number = (n) => n.toLocaleString("en");
const clock = (micros) => `${new Date(micros / 1e3).toISOString().slice(0, 19).replace("T", " ")} UTC`;
const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

function state(text, isWrong = false) {
  say($("state"), text);
  $("state").classList.toggle("wrong", isWrong);
  document.documentElement.dataset.told = "";
}

/** Whether a service sends this page. A site has no stream, and each request for one would be an error in the console. */
const isService = async (signal) => (await fetch("live.html", { method: "HEAD", signal, cache: "no-store" })).headers.has("ratescope-live");

/**
 * Listens, with a new request a second after each one that ends, until another call takes its place. Where there is no
 * service, it waits twice as long each time, up to a minute.
 */
async function listen() {
  request?.abort();
  const mine = request = new AbortController();
  for (let wait = 1000; mine === request;) {
    try {
      isHere ||= await isService(mine.signal);
      $("example").hidden = isHere;
      wait = isHere ? 1000 : Math.min(2 * wait, 60_000);
      if (!isHere) throw new Error("there is none here");
      const headers = { ...last && { "last-event-id": last }, ...token && { authorization: `Bearer ${bytes(token)}` } };
      const response = await fetch(`live/events${key ? `?watch=${key.hash}` : ""}`, { headers, signal: mine.signal, cache: "no-store" });
      if (response.status === 401) return ask();
      if (!response.headers.get("content-type")?.startsWith("text/event-stream")) throw new Error(await response.text());
      for await (const { event, data, id } of messages(response.body)) {
        if (mine !== request) return;
        heard[event]?.(JSON.parse(data));
        if (id) last = id;
        state(doing);
      }
    } catch (error) {
      if (mine !== request) return;
      const said = error instanceof TypeError || error.message.length > 200 ? "" : error.message.trim();
      state(`${said === "there is none here" ? "No service here" : `The service does not answer${said && `: ${said}`}`}. Trying again …`, true);
    }
    await pause(wait);
  }
}

/** A text for a header, where a character is a byte. The service takes the bytes as UTF-8. */
const bytes = (text) => String.fromCharCode(...new TextEncoder().encode(text));

/** The messages of an event stream. */
async function* messages(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    let text = "";
    for (let next; !(next = await reader.read()).done;) {
      const parts = (text + next.value).split("\n\n");
      text = parts.pop();
      if (text.length > LONGEST) throw new Error("a message has no end");
      for (const part of parts) yield Object.fromEntries(part.split("\n").map((line) => line.split(/: (.*)/s, 2)));
    }
    throw new Error("it has ended");
  } finally {
    // Otherwise a stream that can't be read would keep its connection beside the next ones.
    reader.cancel().catch(() => {});
  }
}

/** Takes the messages of the service, by their kind. */
const heard = {
  rules(told) {
    if (told.probe !== probe) {
      // Another process, which counts from the beginning.
      page.put("begin", []);
      [events, verdicts, lost, probe] = [[], [], 0, told.probe];
      // The hashes of keys are those of their process.
      for (const id of ["t-busiest", "t-refused"]) $(id).replaceChildren();
      if (key) key.isOfBefore = true;
      $("client").dataset.watched = "false";
      doing = "Live";
    }
    rules = told.rules.map(([name, limits, isShadow]) => [name, isShadow ? `${limits}, a shadow` : limits, isShadow]);
    page.set("rules", rules.map(([name, limits]) => `${name}\t${limits}`).join("\n"));
    // Another number of rules needs another height.
    $("graph").style.height = `${page.height(0)}px`;
  },
  speed(speed) {
    page.put("speed", [speed]);
    // A fast replay is soon over, so the pictures of a key begin with the window of the rules.
    const same = [...$("client-window").options].find(({ value }) => value === $("window").value);
    if (doing === "Live" && same) same.selected = true;
    doing = speed === 0 ? "The replay has ended" : `A replay${speed === 1 ? "" : `, ${number(speed)} times as fast`}`;
  },
  past({ all, seconds, rings }) {
    for (const [i, name] of ["seconds", "tens", "hours"].entries()) {
      const { since, rows } = rings[i];
      // A row from before a rule was added has no counts of it: they are 0.
      const width = Math.max(1, ...rows.map((row) => row.length));
      const padded = rows.flatMap((row) => [...row, ...Array(width - row.length).fill(0)]);
      page.put(name, [...seconds, since, all, width, ...padded]);
    }
  },
  sums([at, ...told]) {
    page.put("sums", [at, ...told]);
    [now, sums] = [at, told];
    $("clock").textContent = clock(now);
    rows($("t-rules"), rules.map(([, , isShadow], i) => [isShadow, ...sums.slice(3 * i, 3 * i + 3)]), 5, (row, [isShadow, ...it], i) => {
      const [name, limits] = rules[i];
      // A shadow refuses nothing, and no other rule would: an empty column is not shown.
      const texts = it.map((n, i) => (n === 0 && i === (isShadow ? 1 : 2) ? "" : number(n)));
      [name, ...texts, limits].forEach((text, i) => say(row.cells[i], text));
      for (const i of [2, 3]) row.cells[i].classList.toggle("some", it[i - 1] > 0);
      row.dataset.sums = it.join(" ");
    });
    if (key) show();
  },
  keys({ since, busiest, refused }) {
    // The key is watched again as soon as another process tells of it.
    const again = key?.isOfBefore && [...busiest, ...refused].find((it) => it.key === key.key && it.rule === key.rule);
    if (again) open(again);
    $("since").textContent = `The busiest keys are counted from when somebody began to look, ${clock(since)}, and the refused ones from the start. Choose one to see its events.`;
    for (const [id, keys] of [["t-busiest", busiest], ["t-refused", refused]]) {
      // While the pointer is over a table, its rows keep their keys, so that a press meets the key it was
      // meant for.
      const stays = $(id).matches(":hover") ? [...$(id).rows].map(({ known }) => keys.find(({ hash }) => hash === known.hash) ?? known) : [];
      rows($(id), stays.length > 0 ? stays : keys, 4, (row, it) => {
        row.known = it;
        if (!row.cells[0].firstChild) {
          const button = Object.assign(document.createElement("button"), { type: "button" });
          // Where there is no room for all of it, its end is seen, by which keys differ.
          button.append(document.createElement("bdi"));
          row.cells[0].append(button);
        }
        row.cells[0].firstChild.title = it.key;
        say(row.cells[0].firstChild.firstChild, it.key || "(everybody)");
        say(row.cells[1], isShadow(it.rule) ? `${it.rule}, a shadow` : it.rule);
        say(row.cells[2], number(it.count));
        say(row.cells[3], it.error ? number(it.error) : "");
        row.dataset.count = `${it.count} ${it.error}`;
        row.classList.toggle("shown", it.hash === key?.hash);
      });
    }
  },
  events(told) {
    if (told.key && told.key.hash !== key?.hash) return;
    for (const [at, cost, isRefused] of told.events) {
      events.push(at, cost);
      verdicts.push(isRefused);
    }
    [events, verdicts] = [events.slice(-2 * MOST), verdicts.slice(-MOST)];
    key.elsewhere = told.elsewhere;
    $("client").dataset.watched = "true";
  },
  lost({ events }) {
    lost += events;
    $("lost").textContent = `${number(lost)} events of the key were lost on the way, because this page was slow. The sums are right.`;
  },
};

/**
 * Gives a table a row of `width` cells for each item, filled by `fill`. Rows that are there stay, and with
 * them the focus and a press that has not ended.
 */
function rows(body, items, width, fill) {
  while (body.rows.length > items.length) body.deleteRow(-1);
  items.forEach((it, i) => {
    const row = body.rows[i] ?? body.insertRow();
    while (row.cells.length < width) row.insertCell();
    fill(row, it, i);
  });
}

/** Whether the rule of that name is a shadow, which refuses nothing. */
const isShadow = (name) => rules.some(([other, , isShadow]) => isShadow && other === name);

function say(it, text) {
  if (it.textContent !== text) it.textContent = text;
}

/** Watches a key, and opens it under the Scope. */
function open(it) {
  key = it;
  [events, verdicts] = [[], []];
  page.set("limiter", key.limiters);
  const [limit, list] = [page.get("limit"), page.get("lanes")];
  openClient(key.key || "(everybody)", limit.split("/")[1] || "1m");
  if (limit) decideClient(limit, list);
  beginLate();
  key.settings = limit && `limit=${limit}&lanes=${encodeURIComponent(list)}`;
  show();
  $("client").dataset.watched = "false";
  // Without its last part, the id asks for the events of this key from the first on; all else continues.
  last = last.split(".").slice(0, 2).join(".");
  listen();
}

function show() {
  tellVerdicts(verdicts);
  showClient(events, key.settings, now);
  const [n, refused] = [verdicts.length, verdicts.filter(Boolean).length];
  const elsewhere = key.elsewhere > 0 ? ` ${number(key.elsewhere)} more were refused by other limits and did not count here.` : "";
  const refuses = isShadow(key.rule) ? "would have refused" : "refused";
  $("client-said").textContent = `${key.rule}: ${key.limiters}. Of ${number(n)} events seen the service ${refuses} ${number(refused)}.${elsewhere}`;
  $("client-said").dataset.value = `${n} ${refused}`;
}

function close() {
  key = undefined;
  $("client").hidden = true;
  listen();
}

/** The events of the key as a log, with a line for each. The field `ip` takes any text, other names only addresses. */
function log() {
  const lines = [];
  for (let i = 0; i < events.length; i += 2) {
    const [at, cost] = [events[i], events[i + 1]];
    lines.push(JSON.stringify({ time: (at / 1e6).toFixed(6), ip: key.key || "everybody", cost }));
  }
  return [{ name: "live.jsonl", blob: new Blob(lines.map((line) => `${line}\n`)) }];
}

/** Asks for the token. */
function ask() {
  $("token-error").textContent = token ? "That is not the token." : "";
  $("ask").hidden = false;
  state("The service asks for its token.", true);
  $("token").focus();
}

function wire() {
  wireClient();
  on($("answers"), "click", ({ target }) => {
    const row = target.closest("button")?.closest("tr");
    if (row?.known) open(row.known);
  });
  on($("client-close"), "click", close);
  on($("to-tune"), "click", () => hand(log()).catch(() => page.warn("This browser keeps nothing for another page, so the events can’t be handed to Tune.")));
  on($("ask"), "submit", () => {
    token = $("token").value.trim();
    stored("sessionStorage", (store) => store.setItem("ratescope-token", token));
    $("ask").hidden = true;
    listen();
  });
  // A browser has few connections to a host: a tab that nobody sees leaves its own to others.
  const look = () => {
    if (document.visibilityState !== "hidden") return listen();
    request?.abort();
    request = undefined;
    return undefined;
  };
  on(document, "visibilitychange", look);
  look();
}

start(module, { wire, runs: false });
