// Writes a limiter as the lines of a server, and reads these, for configuration.js, whose name for it is also that of its
// module.
import load, { configuration_targets, read_configuration, write_configuration } from "./pkg/ratescope_page.js";

const loaded = load();

const orders = {
  targets: () => configuration_targets(),
  write: ({ policy, target }) => write_configuration(policy, target),
  read: ({ text }) => read_configuration(text),
};

addEventListener("message", async ({ data: order, ports: [reply] }) => {
  try {
    await loaded;
    reply.postMessage({ texts: orders[order.do](order) });
  } catch (error) {
    reply.postMessage({ problem: String(error) });
  }
});
