import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { skipOrFail } from "../contract/required.ts";
import { eventually, hostProcesses, run, within } from "../support/process-cells.ts";
import { testedSrtRunner } from "../support/srt.ts";

const sample = testedSrtRunner();
const skips = skipOrFail("srt", await sample.probe({ isPatient: true }));
await sample[Symbol.asyncDispose]();

const children = (part: string) =>
  hostProcesses().filter(({ command, status }) => Number(status.PPid) === process.pid && command.includes(part));

describe.skipIf(skips)("a fault in the srt runner", () => {
  let codecell: LiveSessions;
  beforeAll(async () => {
    codecell = await LiveSessions.open({ policy: parsePolicy({}), runners: [testedSrtRunner()] });
  });
  afterAll(() => codecell?.close());

  test("that kills the process that hosts sandbox-runtime affects no cell, and the next cell starts", async () => {
    await using session = await codecell.openSession();
    const services = children("wrapWithSandbox");
    expect(services).not.toEqual([]);
    for (const { pid } of services) process.kill(pid, "SIGKILL");
    await eventually(() => children("wrapWithSandbox").length === 0);
    expect(await run(session, "6 * 7")).toMatchObject({ value: "42" });
    await using next = await codecell.openSession();
    expect(await run(next, "6 * 7")).toMatchObject({ value: "42" });
  });

  test("that kills the cell ends its run and does not affect another session", async () => {
    await using other = await codecell.openSession();
    const before = new Set(children("--unshare-net").map(({ pid }) => pid));
    await using session = await codecell.openSession();
    const [cell] = children("--unshare-net").filter(({ pid }) => !before.has(pid));
    const going = session.run("import time\nprint('on', flush=True)\ntime.sleep(30)");
    for await (const _ of going) process.kill(cell?.pid ?? Number.NaN, "SIGKILL");
    expect(await within(10_000, going)).toMatchObject({ status: "crashed", state: "lost" });
    expect(await run(other, "6 * 7")).toMatchObject({ value: "42" });
  });

  test("that ends the runner leaves no process behind", async () => {
    const own = await LiveSessions.open({ policy: parsePolicy({}), runners: [testedSrtRunner()] });
    const session = await own.openSession();
    await run(session, "1");
    const services = children("wrapWithSandbox").length;
    await own.close();
    expect(await eventually(() => children("wrapWithSandbox").length < services)).toBe(true);
    expect(await eventually(() => children("--unshare-net").length === 0)).toBe(true);
  });
});
