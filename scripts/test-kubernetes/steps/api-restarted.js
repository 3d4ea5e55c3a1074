import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "./expect.js";
import { Gateway } from "./gateway.js";
import { noCellsLeft } from "./pods.js";

/** @type {import("./steps.js").Step} */
export const apiRestarted = {
  name: "api-restarted",
  asks: "what happens to a run when the API server restarts under it?",
  needsOwnCluster: true,
  async run(context) {
    const policy = { session: { persist: true }, proc: { memory: "256MiB", timeout: "120s" } };
    const gateway = await Gateway.start(context, { name: "api-restarted", policy });
    try {
      const codecell = await gateway.connect();
      const session = await codecell.session("restarted");
      await session.run("x = 41");
      await session.save();
      const run = session.run("import time\nfor n in range(20): time.sleep(1); print(n, flush=True)");
      const ended = Promise.resolve(run).then(
        (result) => ({ status: result.status, state: result.state, error: result.error?.message }),
        (error) => ({ status: "error", code: error.code, error: error.message }),
      );
      await sleep(3000); // let the program run
      await context.order("restart/apiserver");
      await context.order("ready");
      const during = await ended;
      // attach goes through the API server: the stream breaks, and the result has to say so
      const isHonest =
        during.status === "ok" ||
        during.state === "lost" ||
        during.code === "cell_lost" ||
        during.state === "recovered";
      expect(isHonest, "the run ends well, or says that its cell was lost", during);
      const after = await session.run("x + 1");
      expect(after.value === "42", "the session continues with its variables", after);
      const how =
        during.status === "ok" ? "the run went on and ended well" : `the run ended with ${JSON.stringify(during)}`;
      return { detail: `${how}; the session then answered with its variables` };
    } finally {
      await gateway.stop();
      await noCellsLeft(context);
    }
  },
};
