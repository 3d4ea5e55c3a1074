import { ChildProcess } from "node:child_process";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { killAfter } from "./kill-after.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function limited() {
  const child = new ChildProcess();
  const kill = vi.spyOn(child, "kill").mockReturnValue(true);
  killAfter(child, 1000, "SIGKILL");
  return { child, kill };
}

test("a child is killed when its time is over", () => {
  const { kill } = limited();
  vi.advanceTimersByTime(999);
  expect(kill).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(kill).toHaveBeenCalledWith("SIGKILL");
});

test("a child that has exited is not killed", () => {
  const { child, kill } = limited();
  child.emit("exit", 0, null);
  vi.advanceTimersByTime(1000);
  expect(kill).not.toHaveBeenCalled();
});

test("no timer stays behind for a program that cannot be started", () => {
  const { child } = limited();
  child.on("error", () => {});
  child.emit("error", new Error("spawn ENOENT"));
  expect(vi.getTimerCount()).toBe(0);
});
