// Compare: besides the parts of every view, a row of controls over each lane of the graph. Lane n is the
// setting lane-n, and all of them together are the setting lanes.
import * as module from "./pkg/ratescope_page.js";
import { shownClients, wireClients } from "./clients.js";
import { $, changed, configure, on, page, start, takesConfigurations, wrong } from "./page.js";

/** One row of controls for each lane, in the order of the lanes. */
const rows = [];

/** The texts of the lanes. `put` replaces all of them at once, and then gives the pencil of one the focus. */
const texts = () => page.get("lanes").split(";");
function put(lanes, focus) {
  page.set("lanes", lanes.join(";"));
  for (const row of rows) choose(row, false);
  changed();
  rows[focus].querySelector(".pencil").focus();
}

/**
 * How limiters treat clients who burst, whether their limit holds in any window, and whether clients who keep going get
 * nothing: the answers to the questions on top.
 */
const answers = [
  ["token-bucket", "yes", "no", "no"],
  ["fixed-window", "yes", "no", "no"],
  ["sliding-counter", "yes", "no", "no"],
  ["sliding-log", "yes", "yes", "no"],
  ["exim strict", "yes", "no", "yes"],
  ["earrrl", "yes", "no", "yes"],
  ["leaky-bucket", "no", "no", "no"],
  ["token-bucket burst 1", "no", "no", "no"],
  ["sliding-log & token-bucket burst 1", "no", "yes", "no"],
];

/** The lanes that the answers have left; while others are in force, nothing is answered. */
let fitting;

/** Leaves the lanes that fit the answers or, if no limiter fits, those that fit most of them. */
function ask() {
  const wanted = [...document.querySelectorAll("[data-asks]")].map(({ value }) => value);
  const fit = ([, ...is]) => wanted.filter((want, i) => want === "" || want === is[i]).length;
  const most = Math.max(...answers.map(fit));
  const lanes = answers.filter((it) => fit(it) === most).map(([lane]) => lane).slice(0, 8);
  page.set("lanes", lanes.join(";"));
  fitting = page.get("lanes");
  changed();
  $("asked").textContent = most === wanted.length ? "" : "No limiter does all of that. These come closest.";
}

/** Chooses a lane for "Only these", or takes the choice back. */
function choose(row, chosen) {
  row.querySelector(".number").ariaPressed = String(chosen);
  const all = rows.filter((row) => row.querySelector(".number").ariaPressed === "true");
  for (const row of rows) row.querySelector(".only").hidden = row !== all[0] || all.length === rows.length;
}

/** Makes as many rows as there are lanes, and brings them up to date. */
function shown() {
  if (page.get("lanes") !== fitting) {
    for (const it of document.querySelectorAll("[data-asks]")) it.value = "";
    $("asked").textContent = "";
  }
  const lanes = texts().length;
  const colours = page.colours();
  while (rows.length > lanes) rows.pop().remove();
  while (rows.length < lanes) rows.push(row(rows.length));
  rows.forEach((row, i) => {
    row.style.setProperty("--ink", `var(--lane-${colours[i]})`);
    row.querySelector(".name").textContent = page.get(`lane-${i + 1}`);
    row.querySelector(".promise").title = row.box.title = page.policy(`lane-${i + 1}`);
    row.querySelector(".up").disabled = i === 0;
    row.querySelector(".down").disabled = i === lanes - 1;
    row.querySelector(".remove").disabled = lanes === 1;
  });
  $("several").hidden = !/ share /.test(page.get("lanes"));
  shownClients();
}

/** Makes and wires the row of lane `i`, from 0. */
function row(i) {
  const row = $("lane").content.cloneNode(true).firstElementChild;
  row.style.setProperty("--lane", i);
  const number = row.querySelector(".number");
  number.textContent = i + 1;
  number.ariaLabel = `Choose lane ${i + 1}`;
  row.querySelector(".error").id = `lane-${i + 1}-error`;
  row.box = row.querySelector("input");
  row.box.name = `lane-${i + 1}`;
  row.box.ariaLabel = `Lane ${i + 1}, its limiter`;
  row.box.setAttribute("aria-describedby", `lane-${i + 1}-error`);
  for (const output of row.querySelectorAll("output")) output.id = `${output.className}-${i + 1}`;

  // After a move the button may be disabled or belong to another lane, so the lane's pencil gets the focus.
  const move = (to) => {
    if (to < 0 || to >= rows.length) return;
    const lanes = texts();
    lanes.splice(to, 0, ...lanes.splice(i, 1));
    put(lanes, to);
  };
  const button = (name, label, step) => {
    const button = row.querySelector(`.${name}`);
    button.ariaLabel = `${label} lane ${i + 1}`;
    on(button, "click", step);
    return button;
  };
  button("up", "Move up", () => move(i - 1));
  button("down", "Move down", () => move(i + 1));
  button("remove", "Remove", () => put(texts().toSpliced(i, 1), Math.max(0, i - 1)));
  const about = row.querySelector(".about");
  about.id = `about-${i + 1}`;
  button("what", "What is", () => {}).setAttribute("popovertarget", about.id);
  on(about, "beforetoggle", ({ newState }) => { if (newState === "open") explain(about, row.box.value); });
  button("only", "Only the chosen lanes, as is", () => {
    const chosen = (_, i) => rows[i].querySelector(".number").ariaPressed === "true";
    put(texts().filter(chosen), 0);
  });
  on(number, "click", () => choose(row, number.ariaPressed !== "true"));
  button("pencil", "Write another limiter in", () => {
    row.classList.add("written");
    row.box.focus();
    row.box.select();
  });
  const title = () => `Lane ${i + 1}, ${row.querySelector(".name").textContent}`;
  button("code", "Configuration of", () => configure(title(), row.box.name));
  takesConfigurations(row.box, title);
  // A wrong text stays in its box.
  on(row.box, "blur", () => row.classList.toggle("written", row.box.ariaInvalid === "true"));
  on(row.box, "keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    // The pencil has the focus next, and would take the key for a click.
    event.preventDefault();
    row.classList.remove("written");
    row.querySelector(".pencil").focus();
  });
  on(row, "keydown", (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!event.altKey || !by) return;
    event.preventDefault();
    move(i + by);
  });
  $("lanes").append(row);
  return row;
}

/** Puts the glossary's lines about a limiter into its place. */
function explain(about, text) {
  const [name] = text.trim().split(/[\s/]/);
  const term = text.includes(" share ") ? "share" : text.includes("&") ? "policy" : { haproxy: "nginx", envoy: "nginx", fail2ban: "nginx" }[name] ?? name;
  const entry = document.getElementById(`what-${term}`) ?? $("what-policy");
  about.replaceChildren(...entry.cloneNode(true).children);
}

/** Wires the box below the lanes that adds another one, and the questions. */
function wire() {
  const add = () => {
    const error = page.set(`lane-${rows.length + 1}`, $("add").value);
    if (!error) $("add").value = "";
    changed();
    wrong($("add"), error);
  };
  on(document, "change", ({ target }) => { if (target.matches("[data-asks]")) ask(); });
  on($("scenarios"), "click", ({ target }) => { if (target.matches("a")) $("scenarios").hidePopover(); });
  on($("add-lane"), "click", add);
  wireClients();
  on($("add"), "keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    add();
  });
}

start(module, { wire, shown });
