import { expect, test } from "vitest";
import { PromiseCache } from "./promise-cache.ts";

test("makes a thing once, also for those who ask while it is being made", async () => {
  const cache = new PromiseCache<object>();
  const make = async () => ({});
  const [one, other] = await Promise.all([cache.get("a", make), cache.get("a", make)]);
  expect(one).toBe(other);
  expect(await cache.get("b", make)).not.toBe(one);
});

test("forgets a failure, and the next one tries again", async () => {
  const cache = new PromiseCache<string>();
  await expect(cache.get("a", () => Promise.reject(new Error("not yet")))).rejects.toThrow("not yet");
  expect(await cache.get("a", async () => "made")).toBe("made");
});
