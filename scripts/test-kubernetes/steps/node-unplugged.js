import { waitUntil } from "../cluster/wait-until.js";
import { expect } from "./expect.js";
import { Gateway } from "./gateway.js";
import { cellPods, noCellsLeft } from "./pods.js";

/** @type {import("./steps.js").Step} */
export const nodeUnplugged = {
  name: "node-unplugged",
  asks: "is the loss of a node said, with its name, and does the session come back on the other node?",
  needsOwnCluster: true,
  run: (context) => loseNode(context, { name: "unplugged", isNoticed: true }),
};

/** @type {import("./steps.js").Step} */
export const nodeUnnoticed = {
  name: "node-unnoticed",
  asks: "is the loss of a node said although Kubernetes does not notice it?",
  needsOwnCluster: true,
  run: (context) => loseNode(context, { name: "unnoticed", isNoticed: false }),
};

/** @param {import("./context.js").Context} context */
async function loseNode(context, { name, isNoticed }) {
  const policy = { session: { persist: true }, proc: { memory: "256MiB", timeout: "300s" } };
  const gateway = await Gateway.start(context, { name, policy });
  let lost;
  try {
    const codecell = await gateway.connect();
    const session = await codecell.session("moved");
    await session.run("x = 41");
    await session.save();
    const [pod] = await cellPods(context);
    lost = pod.spec.nodeName;
    const run = session.run("import time\nprint('going', flush=True)\ntime.sleep(250)");
    const ended = Promise.resolve(run).then(
      (result) => result,
      (error) => error,
    );
    for await (const event of run) if (event.type === "stdout") break;
    if (!isNoticed) await context.order("stop/controllers");
    const began = performance.now();
    await context.order(`unplug/${lost}`);
    const ending = await ended;
    const toldSeconds = (performance.now() - began) / 1000;
    const text = JSON.stringify({ ...ending, message: ending.message });
    expect(text.includes(lost), `the ending names ${lost}`, ending);
    if (!isNoticed) await context.order("restart/controllers");
    const after = await waitUntil("the session answers", () => session.run("x + 1"), { timeoutMs: 90_000 });
    expect(after.value === "42", "the session continues with its saved variables", after);
    const backSeconds = (performance.now() - began) / 1000;
    const pods = await cellPods(context);
    const where = pods.filter(({ status }) => status.phase === "Running").map(({ spec }) => spec.nodeName);
    expect(
      where.some((name) => name !== lost),
      "its new pod is on another node",
      where,
    );
    return {
      detail: `told after ${toldSeconds.toFixed(0)} s that ${lost} was lost (${ending.status ?? ending.code}); back on the other node after ${backSeconds.toFixed(0)} s`,
      figures: isNoticed
        ? { nodeLossToldSeconds: toldSeconds, nodeLossBackSeconds: backSeconds }
        : { unnoticedNodeLossToldSeconds: toldSeconds },
    };
  } finally {
    if (!isNoticed) await context.order("restart/controllers");
    if (lost) await context.order(`plug/${lost}`);
    await gateway.stop();
    await noCellsLeft(context);
  }
}
