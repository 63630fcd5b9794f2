// A limiter as the lines of a server, to copy; and the lines of a server as a limiter. The dialog is made when it is
// first opened.
import { copyText, on } from "./page.js";

let worker;

/** Asks the Worker; throws if it could not do it. */
function ask(order) {
  worker ??= new Worker(new URL("configuration-worker.js", import.meta.url), { type: "module" });
  return new Promise((resolve, reject) => {
    const { port1, port2 } = new MessageChannel();
    worker.onerror = () => reject(new Error("This browser cannot load it: is there a network?"));
    port1.onmessage = ({ data: { texts, problem } }) => {
      port1.close();
      if (problem === undefined) resolve(texts);
      else reject(new Error(problem));
    };
    worker.postMessage(order, [port2]);
  });
}

/** Two texts each. */
const pairs = (texts) => Array.from({ length: texts.length / 2 }, (_, i) => texts.slice(2 * i, 2 * i + 2));

let dialog;
const part = (name) => dialog.querySelector(`.${name}`);

/** The limiter that is shown, and a function that takes another one: it returns the error in it, or an empty text. */
let shown = { title: "", policy: "", take: () => "" };

function make() {
  dialog = document.createElement("dialog");
  dialog.className = "configuration";
  dialog.setAttribute("aria-labelledby", "configuration-name");
  dialog.innerHTML = `
    <h2 id="configuration-name"></h2>
    <p class="field beside"><label for="configuration-target">Server</label><select id="configuration-target"></select><button type="button" class="copies">Copy</button></p>
    <pre tabindex="0" aria-labelledby="configuration-name"></pre>
    <ul class="notes" aria-label="Notes on it"></ul>
    <p class="field"><label for="configuration-pasted">Paste the configuration of a server to take its limit</label><textarea id="configuration-pasted" rows="4" spellcheck="false" autocomplete="off" placeholder="limit_req_zone $binary_remote_addr zone=login:10m rate=10r/m;"></textarea></p>
    <ul class="found"></ul>
    <p class="error" role="status"></p>
    <form method="dialog"><button>Close</button></form>`;
  document.body.append(dialog);
  on(part("copies"), "click", () => copyText(dialog.querySelector("pre"), part("copies")));
  on(dialog.querySelector("select"), "change", write);
  on(dialog.querySelector("textarea"), "input", read);
  on(part("found"), "click", ({ target: { dataset: { limiter } } }) => {
    if (!limiter) return;
    const problem = shown.take(limiter);
    part("error").textContent = problem;
    if (!problem) dialog.close();
  });
}

const item = (...children) => {
  const it = document.createElement("li");
  it.append(...children);
  return it;
};

/** Shows the limiter in the syntax of the chosen server, or why it has none there. */
async function write() {
  const { policy } = shown;
  const target = dialog.querySelector("select").value;
  const [file, text, ...notes] = await ask({ do: "write", policy, target }).catch(({ message }) => ["", "", message]);
  if (shown.policy !== policy || dialog.querySelector("select").value !== target) return;
  dialog.querySelector("h2").textContent = file ? `${shown.title}: ${file}` : shown.title;
  dialog.querySelector("pre").textContent = text;
  dialog.querySelector("pre").hidden = text === "";
  part("copies").disabled = text === "";
  part("notes").replaceChildren(...notes.map((note) => item(note)));
}

/** Lists the limits of the text that was pasted. */
async function read() {
  const text = dialog.querySelector("textarea").value;
  part("error").textContent = "";
  const found = text.trim() === "" ? [] : await ask({ do: "read", text }).catch(({ message }) => [message, ""]);
  if (dialog.querySelector("textarea").value !== text) return;
  part("found").replaceChildren(...pairs(found).map(([name, limiter]) => {
    if (!limiter) return item(name);
    const take = Object.assign(document.createElement("button"), { type: "button", textContent: `Take ${limiter}` });
    take.dataset.limiter = limiter;
    return item(take, ` ${name}`);
  }));
}

/** Opens the dialog for a limiter, which `title` names, with the text that was pasted in its place, if any. */
export async function open(title, policy, take, pasted = "") {
  if (!dialog) make();
  shown = { title, policy, take };
  dialog.querySelector("h2").textContent = title;
  dialog.querySelector("pre").hidden = true;
  part("notes").replaceChildren();
  dialog.querySelector("textarea").value = pasted;
  dialog.showModal();
  const select = dialog.querySelector("select");
  // Without a limiter there is nothing to write.
  select.parentElement.hidden = policy === "";
  if (pasted) dialog.querySelector("textarea").focus();
  try {
    if (select.options.length === 0) {
      const targets = pairs(await ask({ do: "targets" }));
      select.append(...targets.map(([name, people]) => new Option(people, name, false, name === "nginx")));
    }
    // A limiter of a server is for that one.
    const [own] = policy.split(" ");
    if ([...select.options].some(({ value }) => value === own)) select.value = own;
    await Promise.all([policy && write(), read()]);
  } catch ({ message }) {
    part("error").textContent = message;
  }
}
