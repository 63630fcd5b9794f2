// Compare: besides what every view has, a row of controls over each lane of the graph. Lane n is the
// setting lane-n, and all of them together are the setting lanes.
import { $, changed, on, page, start, wrong } from "./page.js";

/** One row a lane, in their order. */
const rows = [];

/** As many rows as there are lanes. */
function shown() {
  const lanes = page.get("lanes").split(";").length;
  while (rows.length > lanes) rows.pop().remove();
  while (rows.length < lanes) rows.push(row(rows.length));
  rows.forEach((row, i) => {
    row.title = page.about(`lane-${i + 1}`);
    row.querySelector(".up").disabled = i === 0;
    row.querySelector(".down").disabled = i === lanes - 1;
    row.querySelector(".remove").disabled = lanes === 1;
  });
}

/** The row of lane `i`, wired. */
function row(i) {
  const row = $("lane").content.cloneNode(true).firstElementChild;
  row.style.setProperty("--lane", i);
  row.classList.add(`lane-${(i % 8) + 1}`);
  row.querySelector(".number").textContent = i + 1;
  row.querySelector(".error").id = `lane-${i + 1}-error`;
  row.box = row.querySelector("input");
  row.box.name = `lane-${i + 1}`;
  row.box.ariaLabel = `Lane ${i + 1}, its limiter`;
  row.box.setAttribute("aria-describedby", `lane-${i + 1}-error`);
  for (const output of row.querySelectorAll("output")) output.id = `${output.className}-${i + 1}`;

  /** Puts another list of lanes in force and the focus on one of them, since its button may be gone. */
  const lanes = (change, focus) => {
    const lanes = page.get("lanes").split(";");
    change(lanes);
    page.set("lanes", lanes.join(";"));
    changed();
    rows[focus].box.focus();
  };
  const move = (to) => {
    if (to >= 0 && to < rows.length) lanes((lanes) => lanes.splice(to, 0, ...lanes.splice(i, 1)), to);
  };
  const button = (name, label, step) => {
    const button = row.querySelector(`.${name}`);
    button.ariaLabel = `${label} lane ${i + 1}`;
    on(button, "click", step);
  };
  button("up", "Move up", () => move(i - 1));
  button("down", "Move down", () => move(i + 1));
  button("remove", "Remove", () => lanes((lanes) => lanes.splice(i, 1), Math.max(0, i - 1)));
  on(row.box, "keydown", (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!event.altKey || !by) return;
    event.preventDefault();
    move(i + by);
  });
  $("lanes").append(row);
  return row;
}

/** The box below the lanes, for another one. */
function wire() {
  const add = () => {
    const error = page.set(`lane-${rows.length + 1}`, $("add").value);
    if (!error) $("add").value = "";
    changed();
    wrong($("add"), error);
  };
  on($("add-lane"), "click", add);
  on($("add"), "keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    add();
  });
}

start({ wire, shown });
