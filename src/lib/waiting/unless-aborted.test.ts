import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { unlessAborted } from "./unless-aborted.ts";

const never = new Promise<never>(() => {});

describe("unlessAborted", () => {
  test("resolves with the result of the work, and leaves no listener on the signal", async () => {
    const { signal } = new AbortController();
    expect(await unlessAborted(Promise.resolve(42), signal, "given up")).toBe(42);
    await expect(unlessAborted(Promise.reject(new Error("broken")), signal, "given up")).rejects.toThrow("broken");
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("rejects with the signal's reason when it is aborted", async () => {
    const controller = new AbortController();
    const waiting = unlessAborted(never, controller.signal, "given up");
    controller.abort(new Error("changed my mind"));
    await expect(waiting).rejects.toMatchObject({ code: "aborted", message: "given up: changed my mind" });
  });

  test("rejects if the signal is already aborted, even if the work is done", async () => {
    const aborted = AbortSignal.abort();
    await expect(unlessAborted(Promise.resolve(42), aborted, "given up")).rejects.toMatchObject({ code: "aborted" });
  });
});
