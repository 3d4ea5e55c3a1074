import { expect, test } from "vitest";
import { CodecellError } from "../../lib/errors.ts";
import { StartedOnce } from "./started-once.ts";

const { signal } = new AbortController();

test("a second request with the same key waits for the first start", async () => {
  const starts = new StartedOnce();
  let release = (_: string) => {};
  const first = starts.once("key", "a", () => new Promise((resolve) => (release = resolve)), signal);
  const second = starts.once("key", "a", async () => "another", signal);
  release("run_1");
  expect([await first, await second]).toEqual(["run_1", "run_1"]);
});

test("a request whose first caller left before its code ran starts it itself", async () => {
  const starts = new StartedOnce();
  let leave = (_: unknown) => {};
  const first = starts.once("key", "a", () => new Promise((_, reject) => (leave = reject)), signal);
  const second = starts.once("key", "a", async () => "run_2", signal);
  leave(new CodecellError("aborted", "the call was cancelled before its code ran"));
  await expect(first).rejects.toThrow("cancelled");
  expect(await second).toBe("run_2");
  expect(await starts.once("key", "a", async () => "run_3", signal)).toBe("run_2");
});

test("keys are kept for a limited time, and a limited number of them", async () => {
  let now = 0;
  const clock = { now: () => now, after: () => () => {} };
  const starts = new StartedOnce({ clock, keepMs: 10, keepKeys: 2 });
  const start = (key: string, runId: string) => starts.once(key, "a", async () => runId, signal);
  expect(await start("a", "1")).toBe("1");
  expect(await start("b", "2")).toBe("2");
  expect(await start("c", "3")).toBe("3");
  expect(await start("c", "4")).toBe("3");
  expect(await start("a", "5")).toBe("5");
  now = 11;
  expect(await start("a", "6")).toBe("6");
});
