// Tune: besides the parts of every view, logs that are handed to a Worker, and its answers. The Worker reads and
// counts, the module draws and words the answer, and this file shows it.
import { decideClient, openClient, showClient, wireClient } from "./client.js";
import { dropped, forget, handed, keep, keepMore, recall } from "./hand.js";
import { $, changed, configure, on, page, save, start, takesConfigurations, tell, wireDrop } from "./page.js";

/** The Worker has the same module. `wasm-pack build` makes only one for all views. */
const glue = () => import("./pkg/ratescope_tune.js").catch(() => import("./pkg/ratescope_page.js"));

/** The Worker that reads and counts; a new one replaces one that has failed. */
let worker;

/** The logs that are shown: each its name, and its Blob, except for the sample. */
let logs = [];

/** The logs that were given last. They are read again when the options of reading change. */
let given = logs;

/** The logs that are being read, if any are. */
let reading;

/** The server that the logs suggest. It is in force until somebody chooses another. */
let supposed = "nginx";

/** The keys of clients that are marked as legitimate. */
const marks = new Set();

/** The keys of clients that are to be stopped, and of those far above all others. */
const stop = new Set();
let outliers = [];

/** The client that is shown. */
let client;

const post = (order) => worker.postMessage(order);

/**
 * The choices when the Worker was last asked; the options of reading when they last changed; and those with
 * which logs were last read.
 */
let asked;
let chosen;
let how;
const waysToRead = () => page.get("reading");

function shown() {
  $("rate-field").hidden = page.get("by") !== "bucket";
  for (const { dataset: { order }, parentElement } of document.querySelectorAll("th button")) {
    if (order === page.get("order")) parentElement.ariaSort = ["client", "peak-at", "first"].includes(order) ? "ascending" : "descending";
    else parentElement.removeAttribute("aria-sort");
  }
  if (page.fragment() === asked) return;
  ask();
  if (waysToRead() !== chosen) {
    chosen = waysToRead();
    // The sections with settings that the link has are opened.
    for (const id of ["settings", "more"]) {
      if (page.fragment().split("&").some((part) => part && $(id).querySelector(`[name=${part.split("=")[0]}]`))) $(id).open = true;
    }
  }
  // While somebody types an option of reading, the logs are not read again at every letter.
  clearTimeout(again);
  if (given.length > 0 && waysToRead() !== how) again = setTimeout(() => { if (waysToRead() !== how) read(given); }, 600);
}

let again;

/** The name of the limit that a configuration has. */
const TODAY = "Today’s limit";

function ask() {
  asked = page.fragment();
  post({ do: "ask", fragment: asked, marks: [...marks].join("\n"), stop: [...stop].join("\n") });
}

/** Reads logs in place of those that are shown. */
function read(next) {
  reading = given = next;
  how = waysToRead();
  ask();
  problem("");
  propose([]);
  $("progress").hidden = false;
  $("bar").removeAttribute("value");
  $("how-far").textContent = "…";
  post({ do: "read", logs: next });
}

/** The notes that the browser keeps beside the logs. */
const more = () => ({ supposed, marks: [...marks], stop: [...stop] });

/** Has the browser keep the logs that are shown, and says whether it does. The entry of its history has their id. */
async function stay() {
  const id = crypto.getRandomValues(new Uint32Array(3)).join("-");
  const isKept = await keep(id, logs, more()).catch(() => undefined);
  kept = isKept ? id : undefined;
  history.replaceState(kept && { kept }, "");
  $("kept").hidden = isKept === undefined;
  $("forget").hidden = !isKept;
  $("t-kept").textContent = isKept ? "Kept in this browser for a day, or until the next log, so that reload and Back work." : "The log is too large for this browser to keep. After a reload, choose it again.";
}

/** The id under which the logs that are shown are kept, if they are. */
let kept;

/** Forgets the logs that are kept. */
async function leave() {
  const id = kept;
  kept = undefined;
  history.replaceState(null, "");
  $("forget").hidden = true;
  $("t-kept").textContent = "It is forgotten. After a reload, choose it again.";
  if (id) await forget(id).catch(() => {});
}

/** Shows the logs again that were shown when this entry of the history was left. */
async function comeBack() {
  const id = history.state?.kept;
  const found = id && await recall(id).catch(() => undefined);
  if (!id || given.length > 0) return;
  if (!found) return problem("The log is no longer kept here. Choose it again.");
  supposed = found.more.supposed;
  for (const [set, keys] of [[marks, found.more.marks], [stop, found.more.stop]]) keys.forEach((key) => set.add(key));
  read(found.logs);
}

/** Proposes how to read a log that is not recognized: the notation of its columns, and the content of each. */
function propose([notation = "", ...columns]) {
  $("proposed").hidden = notation === "";
  $("notation").value = notation;
  const pair = (name, value) => ["dt", "dd"].map((kind, i) => Object.assign(document.createElement(kind), { textContent: [`$${name}`, value][i] }));
  $("columns").replaceChildren(...columns.flatMap((name, i) => (i % 2 === 0 ? pair(name, columns[i + 1]) : [])));
}

/** The columns that were last taken from a proposal. */
let tried;

const problem = (text) => { $("problem").textContent = text; };

const megabytes = (bytes) => bytes >= 1e9 ? `${(bytes / 1e9).toFixed(2)} GB` : `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
const speed = ({ bytes, seconds }) => `${Math.round(bytes / 1e6 / Math.max(seconds, 0.001))} MB/s`;

/** Takes the messages of the Worker, by their kind. */
const heard = {
  progress({ name, at, of, bytes, lines, seconds }) {
    if (!reading) return;
    if (of > 0) $("bar").value = at / of;
    const left = of > at && at > 0 ? `, ${Math.ceil((seconds * (of - at)) / at)} s left` : "";
    $("how-far").textContent = `${name}: ${megabytes(at)}${of ? ` of ${megabytes(of)}` : ""}, ${lines.toLocaleString("en")} lines, ${speed({ bytes, seconds })}${left}`;
  },
  read({ none, configuration, problems, proposal, server, period, bytes, seconds }) {
    $("progress").hidden = true;
    if (configuration) {
      reading = undefined;
      given = logs;
      if (logs.length === 0) return problem("This is the configuration of a server. Open a log first, and then this file, to see what its limits would do to it.");
      return configure(TODAY, "today", configuration);
    }
    propose(proposal);
    const said = problems.map(({ name, problem }) => `${name}: ${problem}`);
    if (none && said.length === 0) said.push(`${reading.map(({ name }) => name).join(", ")}: ${none}`);
    if (none && logs.length > 0) said.push("The previous log is still shown.");
    problem(said.join("\n"));
    if (!none) {
      // Logs that are read again are of the server that was chosen for them.
      if (reading !== logs && page.get("for") === supposed && supposed !== server) {
        supposed = server;
        page.set("for", server);
        page.set("period", period);
      }
      const isNew = reading !== logs;
      logs = reading;
      if (isNew) stay();
      close();
      const took = seconds < 0.1 ? "" : `${megabytes(bytes)} in ${seconds.toFixed(1)} s, ${speed({ bytes, seconds })}.`;
      $("t-speed").textContent = bytes > 0 ? took : "Made up here.";
      for (const id of ["about", "found", "answers"]) $(id).hidden = false;
      $("before").hidden = true;
      changed();
    }
    reading = undefined;
    return undefined;
  },
  cancelled() {
    reading = undefined;
    given = logs;
    $("progress").hidden = true;
    problem(logs.length > 0 ? "Cancelled. The previous log is still shown." : "Cancelled.");
  },
  answer({ said, picture, periods, table, labels, configuration, outliers: above }) {
    tell(said);
    outliers = above;
    $("plateau").hidden = above.length === 0;
    picture.forEach((numbers, name) => page.put(name, numbers));
    rows($("t-periods"), periods, 4, (row, cells) => cells.forEach((text) => row.append(cell(text))));
    $("periods").hidden = periods.length === 0;
    clients(table);
    for (const [i, field] of ["paths", "agents"].entries()) {
      const [count = "", ...texts] = labels[i];
      $(field).hidden = count === "";
      $(`shown-${field}`).textContent = `${texts.length / 3} of ${count} shown.`;
      rows($(`t-${field}`), texts, 3, (row, cells) => row.append(...cells.map(cell)));
    }
    write(configuration);
    changed();
  },
  events(events, { key, by: [limit, list] }) {
    if (client?.key !== key) return;
    if (limit) decideClient(limit, list);
    showClient(events, limit && `limit=${limit}&lanes=${encodeURIComponent(list)}`);
  },
  csv: (text) => save("ratescope-clients.csv", "text/csv", text),
  summary: (bytes) => save("ratescope.tune", "application/octet-stream", bytes),
  failed(error) {
    console.error(error);
    reading = undefined;
    logs = given = [];
    leave();
    $("kept").hidden = true;
    employ();
    $("progress").hidden = true;
    problem(`Reading failed: ${error.split("\n")[0]}. Your choices are kept. Try another log, or a smaller one.`);
  },
};

/** Starts a Worker, in place of the one before. */
function employ() {
  worker?.terminate();
  worker = new Worker(new URL("tune-worker.js", import.meta.url), { type: "module" });
  on(worker, "message", ({ data }) => {
    for (const [what, it] of Object.entries(data)) heard[what]?.(it, data);
  });
  on(worker, "error", (event) => heard.failed(event.message ?? "the Worker could not start"));
  ask();
}

/** Gives a table a row for every `width` texts, filled by `fill`. */
function rows(body, texts, width, fill) {
  const all = [];
  for (let i = 0; i < texts.length; i += width) {
    const row = document.createElement("tr");
    fill(row, texts.slice(i, i + width));
    all.push(row);
  }
  body.replaceChildren(...all);
}

function cell(content) {
  const td = document.createElement("td");
  td.append(content);
  return td;
}

/** The texts of the table. It is made again only when they change, so that a focus in it stays. */
let tabled = "";

function clients([count, ...table]) {
  const shown = (table.length / 8).toLocaleString("en");
  $("shown-clients").textContent = `${shown} of ${count} shown.`;
  $("more-clients").hidden = shown === count;
  const text = table.join("\n");
  if (text === tabled) return;
  tabled = text;
  const within = section.contains(document.activeElement) && document.activeElement;
  const { id, dataset: { key: focused } = {} } = document.activeElement?.closest("#t-clients :is(button, input)") ?? {};
  rows($("t-clients"), table, 8, (row, [key, seen, marked, requests, peak, at, refused, first]) => {
    const name = seen || "(none)";
    const box = (mark, is) => Object.assign(document.createElement("input"), { type: "checkbox", checked: marked === mark, ariaLabel: `${name} is ${is}` });
    const boxes = [box("marked", "legitimate"), box("stop", "to be stopped")];
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: name, title: "Its own events" });
    boxes.forEach((box, i) => { box.dataset.mark = ["marked", "stop"][i]; });
    for (const it of [...boxes, button]) it.dataset.key = key;
    row.append(...[button, refused, requests, peak, at, first, ...boxes].map(cell));
    row.classList.toggle("refused", first !== "");
    row.classList.toggle("shown", client?.key === key);
    row.peak = at;
  });
  beside();
  if (within) within.focus({ preventScroll: true });
  else if (focused !== undefined && id === "") find(focused)?.focus();
}

/** Puts the events of the client that is shown below its row; without such a row, below the table. */
function beside() {
  const row = client && find(client.key)?.closest("tr");
  document.querySelector("tr:has(> .own)")?.remove();
  if (row) {
    const own = document.createElement("tr");
    own.append(Object.assign(cell(section), { className: "own", colSpan: row.cells.length }));
    row.after(own);
  } else $("client-home").append(section);
}

/** The section with the events of a client. It leaves the page for a moment when the table is made again. */
const section = $("client");

/** The last request to the table: the most clients, and the text to search for. */
let wanted = { most: 50 };

const find = (key) => [...$("t-clients").querySelectorAll("td:first-child > button[data-key]")].find((button) => button.dataset.key === key);

function write([text = "", no, ...warnings]) {
  $("configuration").textContent = text;
  $("configuration").classList.toggle("no", no === "no");
  $("copy-configuration").disabled = no === "no";
  $("to-paste").hidden = text === "";
  $("warnings").replaceChildren(...warnings.map((warning) => Object.assign(document.createElement("li"), { textContent: warning })));
}

/** Shows a client's own events. */
function open({ dataset: { key }, textContent }) {
  client = { key };
  beside();
  openClient(textContent, page.get("period"));
  post({ do: "events", key });
  for (const row of $("t-clients").rows) row.classList.toggle("shown", row.querySelector("button").dataset.key === key);
}

function close() {
  client = undefined;
  beside();
  $("client").hidden = true;
  for (const row of $("t-clients").rows) row.classList.remove("shown");
}

/** Has the marks of clients in force, and keeps them with the logs. */
function applyMarks() {
  ask();
  if (kept) keepMore(kept, more()).catch(() => {});
}

function wire() {
  employ();
  const take = (next) => {
    if (next.length === 0) return;
    // Columns that were tried on another log, in vain.
    if (page.get("log-format") === tried && !$("proposed").hidden) page.set("log-format", "auto");
    read(next);
  };
  on($("files"), "change", ({ target }) => { take(dropped(target)); target.value = ""; });
  for (const id of ["sample", "picture"]) on($(id), "click", () => take([{ name: "The sample" }]));
  on($("paste"), "click", () => {
    const open = $("pasted").toggleAttribute("hidden") === false;
    $("paste").ariaExpanded = String(open);
    if (open) $("lines").focus();
  });
  on($("read-lines"), "click", () => take([{ name: "The pasted lines", blob: new Blob([$("lines").value]) }]));
  const readSo = () => {
    const error = page.set("log-format", $("notation").value);
    if (!error) tried = page.get("log-format");
    problem(error);
    if (!error) changed();
  };
  on($("read-so"), "click", readSo);
  on($("notation"), "keydown", ({ key }) => { if (key === "Enter") readSo(); });
  on($("cancel"), "click", () => post({ do: "cancel" }));
  on(document, "paste", (event) => {
    if (event.target.matches?.("input, textarea")) return;
    const { files } = event.clipboardData;
    take(dropped({ files, text: event.clipboardData.getData("text") }, "The pasted lines"));
  });
  // A log may be dropped anywhere on the page.
  wireDrop((given) => { $("drop").classList.remove("over"); take(dropped(given)); });
  on(document, "dragover", (event) => $("drop").classList.toggle("over", event.defaultPrevented));
  on(document, "dragleave", (event) => { if (!event.relatedTarget) $("drop").classList.remove("over"); });

  // Logs that were dropped on another view.
  if (location.hash === "#handed") {
    history.replaceState(null, "", location.pathname);
    handed().then(take, () => problem("This browser could not hand the log over. Drop it here."));
  } else comeBack();
  // Another fragment is another entry of the history.
  on(window, "hashchange", () => history.replaceState(kept && { kept }, ""));
  on($("forget"), "click", leave);
  takesConfigurations($("today"), () => TODAY);

  const search = (most) => { wanted = { search: $("search").value, most }; post({ do: "table", ...wanted }); };
  on($("search"), "input", () => search(50));
  on($("more-clients"), "click", () => search(wanted.most + 200));
  on(document.querySelector("thead"), "click", ({ target }) => {
    const button = target.closest("[data-order]");
    if (button) { page.set("order", button.dataset.order); changed(); }
  });
  on($("recommend"), "click", () => { page.set("limit", "auto"); changed(); });
  on($("let-pass"), "click", () => {
    for (const key of outliers) marks.add(key);
    page.set("limit", "auto");
    applyMarks();
    changed();
  });
  on($("t-clients"), "click", ({ target }) => { if (target.matches("button[data-key]")) open(target); });
  on($("t-clients"), "change", ({ target: { checked, dataset: { key, mark } } }) => {
    if (!mark) return;
    // A client has one mark or none.
    const [set, other] = mark === "stop" ? [stop, marks] : [marks, stop];
    if (checked) { set.add(key); other.delete(key); } else set.delete(key);
    applyMarks();
  });
  on($("save-marks"), "click", () => save("ratescope-marks.txt", "text/plain", [...marks].map((key) => `${key}\n`).join("")));
  on($("load-marks"), "change", async ({ target }) => {
    const text = await target.files[0]?.text() ?? "";
    target.value = "";
    for (const line of text.split("\n")) {
      const key = line.split(" #")[0].trim();
      if (key && !key.startsWith("#")) marks.add(key);
    }
    applyMarks();
  });
  on($("save-csv"), "click", () => post({ do: "csv" }));
  on($("save-summary"), "click", () => post({ do: "summary" }));
  on($("save-svg"), "click", () => save("ratescope-tune.svg", "image/svg+xml", page.svg()));

  wireClient();
  on($("client-close"), "click", () => { const { key } = client; close(); find(key)?.focus(); });
}

start(await glue(), { wire, shown, runs: false });
