// Writes a limiter as the lines of a server, and reads these, for configuration.js.

// Its module has nothing else. `wasm-pack build` makes only one module, with everything.
const loaded = import("./pkg/ratescope_configuration.js").catch(() => import("./pkg/ratescope_page.js")).then(async (module) => {
  await module.default();
  return module;
});

const orders = {
  targets: (module) => module.configuration_targets(),
  write: (module, { policy, target }) => module.write_configuration(policy, target),
  read: (module, { text }) => module.read_configuration(text),
};

addEventListener("message", async ({ data: order, ports: [reply] }) => {
  try {
    reply.postMessage({ texts: orders[order.do](await loaded, order) });
  } catch (error) {
    reply.postMessage({ problem: String(error) });
  }
});
