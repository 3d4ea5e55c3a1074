import { expect, test } from "vitest";
import { PromiseCache } from "./promise-cache.ts";

test("PromiseCache creates a value once, also for concurrent callers", async () => {
  const cache = new PromiseCache<object>();
  const make = async () => ({});
  const [one, other] = await Promise.all([cache.get("a", make), cache.get("a", make)]);
  expect(one).toBe(other);
  expect(await cache.get("b", make)).not.toBe(one);
});

test("PromiseCache forgets a failure, and the next call tries again", async () => {
  const cache = new PromiseCache<string>();
  await expect(cache.get("a", () => Promise.reject(new Error("not yet")))).rejects.toThrow("not yet");
  expect(await cache.get("a", async () => "made")).toBe("made");
});
