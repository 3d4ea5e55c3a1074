import { parsePolicy } from "../dist/index.js";
import { processRunner } from "../dist/runners/process/runner.js";
import { median, ms, row, timed } from "./harness.js";
import { withSessions } from "./with-sessions.js";

const rounds = 15;
const batch = 50;
const slowCalls = 200;
const width = 16;
const callMs = 50;

const object = (properties) => ({ type: "object", properties, required: Object.keys(properties) });

/** Calls from a cell to functions of the host: their cost, their width, and forks in the middle of a call. */
export function hostCalls() {
  const policy = parsePolicy({ proc: { memory: "4GiB", timeout: "5m" }, session: { limit: 50 } });
  return withSessions({ policy, runners: [processRunner()] }, async (codecell) => {
    const session = await codecell.session();
    const forkMs = [];
    await session.expose({
      echo: {
        description: "Returns its input.",
        input: object({ value: { type: "integer" } }),
        call: ({ value }) => value,
      },
      slow: {
        description: "Takes a while.",
        input: object({ value: { type: "integer" } }),
        call: ({ value }) => new Promise((resolve) => setTimeout(resolve, callMs, value)),
      },
      sub_agent: {
        ...{ description: "Forks its caller.", kind: "fork" },
        input: { type: "object", properties: { inputs: {}, items: {} } },
        async call(_input, { fork }) {
          const began = performance.now();
          const child = await fork();
          await child.run("len(data)");
          forkMs.push(performance.now() - began);
          await child.close();
        },
      },
    });
    return [
      await oneCall(session),
      await manyCalls(session),
      await subAgents(session, forkMs),
      await largeContext(session),
    ];
  });
}

async function oneCall(session) {
  const [called, ran] = [[], []];
  for (let round = 0; round < rounds; round++) {
    called.push((await timed(() => session.run(`for i in range(${batch}): echo(i)`))) / batch);
    ran.push(
      (await timed(async () => {
        for (let at = 0; at < batch; at++) await session.run("1");
      })) / batch,
    );
  }
  const [call, run] = [median(called), median(ran)];
  return row("call to the host / warm run", call / run, { atMost: 3 }, `${ms(call)} / ${ms(run)}`);
}

async function manyCalls(session) {
  const code = [
    "from concurrent.futures import ThreadPoolExecutor",
    `with ThreadPoolExecutor(${width}) as pool: total = sum(pool.map(slow, range(${slowCalls})))`,
  ].join("\n");
  const took = await timed(() => session.run(code));
  const ideal = Math.ceil(slowCalls / width) * callMs;
  const what = `${slowCalls} calls of ${callMs} ms, ${width} wide / ideal`;
  return row(what, took / ideal, { atMost: 1.3 }, `${ms(took)} / ${ms(ideal)}`);
}

async function subAgents(session, forkMs) {
  const start = async (size) => {
    await session.run(`data = bytearray(${size})\nfor at in range(0, ${size}, 4096): data[at] = 1`);
    forkMs.length = 0;
    for (let round = 0; round < rounds; round++) await session.run("sub_agent(data=data)");
    return median(forkMs);
  };
  const [empty, large] = [await start(0), await start(100 << 20)];
  const detail = `${ms(large)} over 100 MB, ${ms(empty)} over nothing`;
  return row("start of a sub-agent, 100 MB more, ms", large - empty, { atMost: 50 }, detail);
}

/** A gigabyte stays in the cell: the host's heap grows by far less while a sub-agent works on it. */
async function largeContext(session) {
  await session.run("data = b'x' * (1 << 30)");
  globalThis.gc?.();
  const before = process.memoryUsage();
  await session.run("sub_agent(data=data)");
  const after = process.memoryUsage();
  const grown = (after.heapUsed + after.external - before.heapUsed - before.external) / 2 ** 20;
  await session.run("del data");
  return row(
    "host memory for a sub-agent over 1 GB, MiB",
    grown,
    { atMost: 16 },
    "heap and buffers, after minus before",
  );
}
