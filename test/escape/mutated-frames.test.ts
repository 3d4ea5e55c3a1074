import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { KernelClient } from "../../src/kernel/client.ts";
import { maxFrameBytes } from "../../src/kernel/frames.ts";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { policyHash } from "../../src/policy/hash.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import type { SandboxRunner } from "../../src/runners/runner.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { cellHeaders, frameOf } from "../support/fuzz/cell-messages.ts";
import { brokenHostHeader } from "../support/fuzz/host-messages.ts";
import { patienceMs, rounds, tries } from "../support/fuzz/long-mode.ts";
import { mutating } from "../support/fuzz/mutating-program.ts";
import { mutatedBytes } from "../support/fuzz/mutations.ts";
import { forging, openCells, run, skipsProcess, within } from "../support/process-cells.ts";

/** `FUZZ_RUNS=250` makes a million of them. */
const frames = rounds(4_000);
const framesPerRun = 2_000;

describe.skipIf(skipsProcess)("mutated frames that a program sends as its worker", () => {
  let codecell: LiveSessions;
  let session: LiveSession;
  let bystander: LiveSession;
  beforeAll(async () => {
    codecell = await openCells({ name: "", options: { layout: "template" } }, { proc: { timeout: "60s" } });
    session = await codecell.openSession();
    bystander = await codecell.openSession();
  });
  afterAll(() => codecell?.close());

  test(
    "leave the host, the session and its variables as they were",
    async () => {
      await run(bystander, "mine = 'untouched'");
      await run(session, `before = 'kept'\n${forging}\n${mutating(cellHeaders)}`);
      const memory = process.memoryUsage().rss;
      let sent = 0;
      for (let seed = 1; sent < frames; seed++) {
        const result = await within(60_000, run(session, `send_mutated(${seed}, ${framesPerRun})`));
        expect([seed, result.status, result.state]).toEqual([seed, "ok", "kept"]);
        expect(result.value).toBe(String(framesPerRun));
        sent += framesPerRun;
      }
      expect(session.isAlive).toBe(true);
      expect(await within(10_000, run(session, "before"))).toMatchObject({ status: "ok", value: "'kept'" });
      expect(await within(10_000, run(bystander, "mine"))).toMatchObject({ status: "ok", value: "'untouched'" });
      expect(process.memoryUsage().rss - memory).toBeLessThan(300 * 2 ** 20);
      if (sent > 4_000)
        console.log(`${sent} mutated frames, ${Math.round((process.memoryUsage().rss - memory) / 2 ** 20)} MiB`);
    },
    patienceMs * 2,
  );
});

describe.skipIf(skipsProcess)("mutated frames from the host", () => {
  /** The rest is about one cell, without the session around it. */
  async function startCell(runner: SandboxRunner, id: string) {
    const policy = parsePolicy({});
    const cell = await runner.start({ id, policy, policyHash: policyHash(policy) });
    return { cell, kernel: await KernelClient.connect(cell.channel, cell.setup) };
  }
  const quiet = { onOutput() {}, onDisplay() {} };
  const answer = (kernel: KernelClient, code: string) =>
    kernel.run({ language: "python", code, timeoutMs: 5000, outputBytes: 1000 }, quiet).done;

  test(
    "without what the protocol asks for are dropped by the supervisor, and the session goes on",
    async () => {
      await using runner = processRunner({ layout: "template" });
      const { cell, kernel } = await startCell(runner, "fuzzed");
      await using _ = cell;
      await answer(kernel, "before = 'kept'");
      const count = rounds(2_000);
      const headers = fc.sample(brokenHostHeader(), { ...tries(count), numRuns: count });
      for (let at = 0; at < count; at += 500) {
        cell.channel.write(
          Buffer.concat(headers.slice(at, at + 500).map((header) => frameOf(header, Buffer.from("x")))),
        );
        expect(await within(20_000, answer(kernel, "before"))).toMatchObject({ status: "ok", result: "'kept'" });
      }
    },
    patienceMs * 2,
  );

  test(
    "that lose their place in the stream end the cell at once, and the next cell starts",
    async () => {
      await using runner = processRunner({ layout: "template" });
      const streams = fc.sample(mutatedBytes(cellHeaders.map((header) => frameOf(header))), {
        ...tries(1),
        numRuns: rounds(15, 150),
      });
      for (const [at, bytes] of streams.entries()) {
        const { cell } = await startCell(runner, `lost-${at}`);
        await using _ = cell;
        // What came before may have been a whole frame, or the beginning of the longest one that is allowed. The rest of this is
        // a length over the limit.
        cell.channel.write(Buffer.concat([bytes, Buffer.alloc(maxFrameBytes + 8, 0xff)]));
        await within(20_000, cell.exited);
      }
      const { cell, kernel } = await startCell(runner, "after");
      await using _ = cell;
      expect(await within(20_000, answer(kernel, "40 + 2"))).toMatchObject({ status: "ok", result: "42" });
    },
    patienceMs * 2,
  );
});
