import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { skipOrFail } from "../contract/required.ts";
import { eventually, hostProcesses, run, within } from "../support/process-cells.ts";
import { testedSrtRunner } from "../support/srt.ts";

const sample = testedSrtRunner();
const skips = skipOrFail("srt", await sample.probe({ isPatient: true }));
await sample[Symbol.asyncDispose]();

const children = (part: string) =>
  hostProcesses()
    .filter(({ command, status }) => Number(status.PPid) === process.pid && command.includes(part))
    .map(({ pid }) => pid);
const services = () => children("wrapWithSandbox");
const cells = () => children("--unshare-net");

describe.skipIf(skips)("a stopped process that hosts sandbox-runtime", () => {
  let runtimeDir: string;
  let stopped: number[];
  beforeEach(async () => {
    runtimeDir = await mkdtemp(join(tmpdir(), "cc-srt-"));
    await chmod(runtimeDir, 0o711);
    stopped = [];
  });
  afterEach(() => rm(runtimeDir, { recursive: true, force: true }));

  /** Opens one session, and then stops the process that prepared it. */
  async function openAndStop(limits: { wrapTimeoutMs?: number } = {}) {
    const runners = [testedSrtRunner({ runtimeDir, ...limits })];
    const codecell = await LiveSessions.open({ policy: parsePolicy({}), runners });
    const session = await codecell.openSession();
    stopped = services();
    expect(stopped).not.toEqual([]);
    for (const pid of stopped) process.kill(pid, "SIGSTOP");
    return { codecell, session };
  }
  const files = async () => (await readdir(runtimeDir, { recursive: true })).sort();

  test("does not delay a start beyond its caller's timeout, and nothing of the start is left", async () => {
    const { codecell, session } = await openAndStop();
    await using _ = codecell;
    const before = { files: await files(), cells: cells() };
    const opening = codecell.openSession({ signal: AbortSignal.timeout(500) });
    await expect(within(20_000, opening)).rejects.toMatchObject({
      name: "CodecellError",
      code: "aborted",
      message: expect.stringContaining("the start was aborted"),
    });
    expect({ files: await files(), cells: cells() }).toEqual(before);
    expect(await run(session, "6 * 7")).toMatchObject({ value: "42" });
    for (const pid of stopped) process.kill(pid, "SIGCONT");
    await using next = await codecell.openSession();
    expect(await run(next, "6 * 7")).toMatchObject({ value: "42" });
    expect(services()).toEqual(stopped); // it was not replaced
  });

  test("is killed and replaced when it does not answer for too long", async () => {
    const { codecell, session } = await openAndStop({ wrapTimeoutMs: 5_000 });
    await using _ = codecell;
    const before = { files: await files(), cells: cells() };
    await expect(within(30_000, codecell.openSession())).rejects.toMatchObject({
      code: "cell_start_failed",
      message: expect.stringContaining("did not answer within 5000 ms"),
      hint: expect.stringContaining("try again"),
    });
    expect({ files: await files(), cells: cells() }).toEqual(before);
    await using next = await codecell.openSession();
    expect(await run(next, "6 * 7")).toMatchObject({ value: "42" });
    expect(await run(session, "6 * 7")).toMatchObject({ value: "42" });
  });

  test("is killed with its runner, and a start that waits for it fails", async () => {
    const { codecell } = await openAndStop();
    const opening = expect(codecell.openSession()).rejects.toMatchObject({ code: "cell_start_failed" });
    const workspaces = async () => (await files()).filter((name) => /\/w\d+$/.test(name));
    await expect.poll(workspaces).toHaveLength(2); // the start has got this far
    await within(30_000, codecell.close());
    await within(30_000, opening);
    expect(await eventually(() => services().length === 0 && cells().length === 0)).toBe(true);
  });
});
