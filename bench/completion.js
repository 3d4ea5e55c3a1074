import { parsePolicy } from "../dist/index.js";
import { processRunner } from "../dist/runners/process/runner.js";
import { wasmRunner } from "../dist/runners/wasm/runner.js";
import { ms, row, timed } from "./harness.js";
import { withSessions } from "./with-sessions.js";

const rounds = 40;
const boundMs = 50;

/** A session with many names, large modules and an object whose own `__dir__` never returns. */
const setUp = `
import collections, json, os, unittest.mock
globals().update({"name%d" % number: number for number in range(5_000)})
class Trap:
    def __init__(self):
        self.__dict__.update({"field%d" % number: number for number in range(5_000)})
    def __dir__(self):
        while True: pass
trap = Trap()
rows = {"key%d" % number: number for number in range(5_000)}
`;
const asked = [
  "na",
  "os.pa",
  "trap.fi",
  "rows['key4",
  "import js",
  "from unittest import mo",
  "open('/",
  "x = 1 if ra",
];

/** How long Tab takes at the prompt of a session: from the request to the answer, the 95th percentile. */
export async function completion() {
  const rows = [];
  for (const [name, make] of Object.entries({ process: processRunner, wasm: wasmRunner })) {
    const policy = parsePolicy({});
    rows.push(
      await withSessions({ policy, runners: [make()] }, async (codecell) => {
        const session = await codecell.session();
        await session.run(setUp);
        const first = await timed(() => session.complete("na"));
        const samples = [];
        for (let round = 0; round < rounds; round++) {
          for (const code of asked) samples.push(await timed(() => session.complete(code)));
        }
        samples.sort((a, b) => a - b);
        const slow = samples[Math.floor(samples.length * 0.95)];
        const detail = `95th percentile ${ms(slow)}, first ${ms(first)}`;
        return row(`completion in ${name} / ${boundMs} ms`, slow / boundMs, { atMost: 1 }, detail);
      }),
    );
  }
  return rows;
}
