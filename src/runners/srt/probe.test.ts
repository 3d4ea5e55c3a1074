import { readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { scriptedSrt, srtWords } from "../../../test/support/scripted-srt.ts";
import { Cleanup } from "../../lib/cleanup.ts";
import type { SrtHost } from "./host.ts";
import { trySrt } from "./probe.ts";
import { WrapServices } from "./wrap-services.ts";

/** Pids of processes with a mark in their command line. A zombie has no command line. */
function marked(mark: string): string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, "utf8").includes(mark);
    } catch {
      return false; // it exited meanwhile
    }
  });
}

describe.skipIf(process.platform !== "linux")("trySrt with a fake of sandbox-runtime", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("kills a trial that hangs, with its children, after the timeout", async () => {
    const mark = `3${process.pid}.5`; // seconds, long enough
    const wrapped = `/bin/sh -c "sleep ${mark} & sleep ${mark} & wait" ${srtWords}`;
    const srt = scriptedSrt(`cleanupAfterCommand() {}, wrapWithSandbox: async () => ${JSON.stringify(wrapped)}`);
    await using cleanup = new Cleanup();
    const host: SrtHost = {
      ...{ srt, runtimeDir: tmpdir(), ownDir: tmpdir(), programs: [], users: undefined },
      services: new WrapServices({ srt, directory: tmpdir() }, cleanup),
    };
    const trying = trySrt(host, 15_000);
    const refused = expect(trying).rejects.toMatchObject({
      code: "runner_unavailable",
      message: "no answer within 15000 ms",
      hint: expect.stringContaining("codecell doctor"),
    });
    const children = () => marked(`sleep\0${mark}`);
    await expect.poll(children).toHaveLength(2);
    const [leader] = marked(`sleep ${mark}`);
    expect(leader).toBeDefined();
    vi.advanceTimersByTime(15_000);
    await refused;
    expect(readdirSync("/proc")).not.toContain(leader); // it was reaped
    await expect.poll(children).toEqual([]);
  });
});
