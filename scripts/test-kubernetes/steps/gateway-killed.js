import { waitUntil } from "../cluster/wait-until.js";
import { expect } from "./expect.js";
import { Gateway } from "./gateway.js";
import { cellPods, noCellsLeft } from "./pods.js";

const sessions = 3;

/** @type {import("./steps.js").Step} */
export const gatewayKilled = {
  name: "gateway-killed",
  asks: "does the next gateway remove the pods of one that was killed, and bring back what was saved?",
  async run(context) {
    const policy = { session: { persist: true }, proc: { memory: "256MiB" } };
    const first = await Gateway.start(context, { name: "killed", policy });
    const codecell = await first.connect();
    const opened = await Promise.all(Array.from({ length: sessions }, (_, n) => codecell.session(`kept-${n}`)));
    await Promise.all(opened.map((session, n) => session.run(`n = ${n}`)));
    await Promise.all(opened.map((session) => session.save()));
    const running = opened[0].run("import time\ntime.sleep(600)");
    void running.catch(() => {});
    const before = await cellPods(context);
    expect(before.length >= sessions, "each session has a pod", before.length);
    await first.kill();
    const second = await Gateway.start(context, { name: "killed", policy });
    try {
      const again = await second.connect();
      const values = await Promise.all(
        opened.map(async (_, n) => (await (await again.session(`kept-${n}`)).run("n")).value),
      );
      expect(
        values.every((value, n) => value === String(n)),
        "the saved variables are back",
        values,
      );
      const old = new Set(before.map(({ metadata }) => metadata.name));
      const began = performance.now();
      await waitUntil(
        "the pods of the killed gateway are gone",
        async () => !(await cellPods(context)).some(({ metadata }) => old.has(metadata.name)),
        { timeoutMs: 120_000 },
      );
      const seconds = (performance.now() - began) / 1000;
      return {
        detail: `${sessions} sessions are back with their variables; the ${old.size} old pods were gone ${seconds.toFixed(0)} s after the restart`,
        figures: { reapedSeconds: seconds },
      };
    } finally {
      await second.stop();
      await noCellsLeft(context);
    }
  },
};
