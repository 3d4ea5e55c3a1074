import { median } from "../../../bench/harness.js";
import { Codecell, parsePolicy } from "../../../dist/index.js";
import { kubernetesRunner } from "../../../dist/runners/kubernetes/runner.js";
import { barePodStart } from "./bare-pod.js";
import { expect } from "./expect.js";
import { withEnvironment } from "./with-environment.js";

const rounds = 10;
const limits = { proc: { memory: "256MiB" } };

/** @type {import("./steps.js").Step} */
export const pool = {
  name: "pool",
  asks: "how long does a pod take, a first reply without the pool, and one with it?",
  run: (context) =>
    withEnvironment(context.env, async () => {
      const bare = [];
      for (let round = 0; round < rounds; round++) bare.push(await barePodStart(context));
      const cold = await firstReplies(context, { pool: 0 });
      const pooled = await firstReplies(context, { pool: 2 });
      const figures = { podStartMs: median(bare), coldReplyMs: median(cold), pooledReplyMs: median(pooled) };
      const part = figures.podStartMs / figures.pooledReplyMs;
      expect(part >= 20, "a pooled first reply takes at most 1/20 of a pod's start", figures);
      return {
        detail: `pod start ${figures.podStartMs.toFixed(0)} ms, first reply ${figures.coldReplyMs.toFixed(0)} ms cold and ${figures.pooledReplyMs.toFixed(1)} ms pooled (1/${part.toFixed(0)} of a pod's start)`,
        figures,
      };
    }),
};

/** Times until the first reply of a new session, in milliseconds. */
async function firstReplies(context, { pool }) {
  const policy = parsePolicy({ ...limits, session: { pool, limit: 20 } });
  const stateDir = `${context.directory}/pool-${pool}`;
  const codecell = await Codecell.open({ policy, runners: [kubernetesRunner()], stateDir });
  const times = [];
  try {
    const warm = await codecell.session(); // the kernel's bundle and the proof of the network are made once per gateway
    await warm.run("1");
    await codecell.closeSession(warm.id);
    for (let round = 0; round < rounds; round++) {
      if (pool > 0) await codecell.poolFilled();
      const began = performance.now();
      const session = await codecell.session();
      const { value } = await session.run("6 * 7");
      times.push(performance.now() - began);
      expect(value === "42", "the reply is right", value);
      await codecell.closeSession(session.id);
    }
  } finally {
    await codecell[Symbol.asyncDispose]();
  }
  return times;
}
