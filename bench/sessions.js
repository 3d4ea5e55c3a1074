import { parsePolicy } from "../dist/index.js";
import { processRunner } from "../dist/runners/process/runner.js";
import { median, ms, row, timed } from "./harness.js";
import { withSessions } from "./with-sessions.js";

const poolRounds = 60;

function withManager(session, work) {
  return withSessions({ policy: parsePolicy({ session, proc: { memory: "1GiB" } }), runners: [processRunner()] }, work);
}

/** Measures how long it takes to get a session from the pool, and its first result. */
export function pool() {
  return withManager({ pool: 4, limit: 100 }, async (manager) => {
    const [handed, replied] = [[], []];
    for (let round = 0; round < poolRounds; round++) {
      await manager.poolFilled();
      let session;
      handed.push(await timed(async () => (session = await manager.session())));
      replied.push(await timed(async () => session.run("x = 1")));
      await manager.closeSession(session.id);
    }
    return [
      row("session from the pool, ms", median(handed), { atMost: 0.1 }, `median of ${poolRounds}`),
      row("first reply of a pooled session, ms", median(replied), { atMost: 1 }, `median of ${poolRounds}`),
    ];
  });
}

/** Compares checkpoint and rollback of 100 MB with pickle in the same interpreter. */
export function checkpoints() {
  return withManager({}, async (manager) => {
    const session = await manager.session();
    const run = async (code) => (await session.run(code)).value;
    await run("import pickle, time\nbig = bytearray(100 << 20)");
    const [frozen, back, dumps, loads] = [[], [], [], []];
    for (let round = 0; round < 9; round++) {
      frozen.push(await timed(() => session.checkpoint("here")));
      back.push(await timed(() => session.rollback("here")));
      const pair = JSON.parse(
        await run(
          "began = time.perf_counter(); data = pickle.dumps(big, protocol=4); middle = time.perf_counter(); pickle.loads(data); [(middle - began) * 1e3, (time.perf_counter() - middle) * 1e3]",
        ),
      );
      dumps.push(pair[0]);
      loads.push(pair[1]);
      await run("del data");
    }
    return [
      row(
        "pickle dump / checkpoint, 100 MB",
        median(dumps) / median(frozen),
        { atLeast: 20 },
        `${ms(median(dumps))} / ${ms(median(frozen))}`,
      ),
      row(
        "pickle load / rollback, 100 MB",
        median(loads) / median(back),
        { atLeast: 10 },
        `${ms(median(loads))} / ${ms(median(back))}`,
      ),
    ];
  });
}

/** Checks that 1000 sequential sessions leak nothing, and that 200 concurrent sessions return correct results. */
export function manyLives() {
  return withManager({ limit: 250 }, async (manager) => {
    const count = async () => (await import("node:fs/promises")).readdir("/proc/self/fd").then((names) => names.length);
    for (let n = 0; n < 50; n++) await oneLife(manager, n);
    globalThis.gc?.();
    const before = { descriptors: await count(), memory: process.memoryUsage().rss };
    for (let n = 0; n < 950; n++) await oneLife(manager, n);
    globalThis.gc?.();
    const after = { descriptors: await count(), memory: process.memoryUsage().rss };
    const alive = await Promise.all(Array.from({ length: 200 }, () => manager.session()));
    const answers = await Promise.all(alive.map(async (session, n) => (await session.run(`${n} * 2`)).value));
    const correct = answers.filter((answer, n) => answer === String(n * 2)).length;
    await Promise.all(alive.map((session) => manager.closeSession(session.id)));
    return [
      row(
        "descriptors after 1000 sessions / after 50",
        after.descriptors / before.descriptors,
        { atMost: 1.1 },
        `${after.descriptors} / ${before.descriptors}`,
      ),
      row(
        "host memory after 1000 sessions / after 50",
        after.memory / before.memory,
        { atMost: 1.3 },
        `${(after.memory / 2 ** 20).toFixed(0)} / ${(before.memory / 2 ** 20).toFixed(0)} MiB`,
      ),
      row("correct results of 200 concurrent sessions", correct, { atLeast: 200 }, "each doubles its number"),
    ];
  });
}

async function oneLife(manager, n) {
  const session = await manager.session();
  const { value: result } = await session.run(`${n} + 1`);
  if (result !== String(n + 1)) throw new Error(`session ${n} returned ${result}`);
  await manager.closeSession(session.id);
}
