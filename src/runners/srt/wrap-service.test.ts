import { tmpdir } from "node:os";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { scriptedSrt, srtWords } from "../../../test/support/scripted-srt.ts";
import { srtSettings } from "./settings.ts";
import { WrapService } from "./wrap-service.ts";

const settings = srtSettings({ programs: [], workspace: "/w", mounts: [], denied: [] });
const start = (body: string) => new WrapService({ srt: scriptedSrt(body), directory: tmpdir(), uid: undefined });
const isSilent = "wrapWithSandbox: () => new Promise(() => {})";
const late = {
  code: "cell_start_failed",
  message: expect.stringContaining("did not answer within"),
  hint: expect.stringContaining("try again"),
};

describe("WrapService with a fake of sandbox-runtime", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("is killed if it does not start in time", async () => {
    await using service = start(
      "checkDependencies: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
    );
    const wrapping = service.wrap("true", settings);
    vi.advanceTimersByTime(30_000);
    await expect(wrapping).rejects.toMatchObject(late);
    expect(service.isAlive).toBe(false);
  });

  test("is killed if it does not answer in time, even if a caller has aborted", async () => {
    await using service = start(isSilent);
    await service.missing();
    const caller = new AbortController();
    const left = service.wrap("true", settings, caller.signal);
    const stays = service.wrap("true", settings);
    await setImmediate(); // both requests are sent
    caller.abort(new Error("changed my mind"));
    await expect(left).rejects.toMatchObject({
      code: "aborted",
      message: "the start was aborted: changed my mind",
    });
    expect(service.isAlive).toBe(true);
    vi.advanceTimersByTime(30_000);
    expect(service.isAlive).toBe(false);
    await expect(stays).rejects.toMatchObject(late);
  });

  test("sends no request for a signal that has already fired", async () => {
    await using service = start(isSilent);
    await expect(service.wrap("true", settings, AbortSignal.abort())).rejects.toMatchObject({ code: "aborted" });
    expect(vi.getTimerCount()).toBe(1); // only the start has a timer
    await service.missing();
    await setImmediate();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("reports the end of a command that was wrapped after its caller aborted", async () => {
    await using service = start(`
      ends: 0,
      cleanupAfterCommand() { this.ends++; },
      wrapWithSandbox(command) {
        if (command === "first") return new Promise((resolve) => { this.answerFirst = resolve; });
        this.answerFirst("${srtWords}");
        return Promise.resolve(\`${srtWords} \${this.ends} ended\`);
      }`);
    await service.missing();
    const caller = new AbortController();
    const first = service.wrap("first", settings, caller.signal);
    await setImmediate(); // the request is sent
    caller.abort();
    await expect(first).rejects.toMatchObject({ code: "aborted" });
    expect(await service.wrap("second", settings)).toContain("0 ended");
    expect(await service.wrap("third", settings)).toContain("1 ended");
  });
});
