import { expect, test } from "vitest";
import { LazySandbox } from "./lazy-sandbox.ts";

const newSandbox = () =>
  new LazySandbox({ projectDir: "/nowhere", open: () => Promise.reject(new Error("it must not be opened")) });

test("a lazy sandbox is opened once, by the first call", async () => {
  const lazy = newSandbox();
  expect(lazy.opened).toBeUndefined();
  const [one, other] = await Promise.all([lazy.open(), lazy.open()]);
  expect(one).toBe(other);
  expect(lazy.opened).toBe(one);
});

test("a disposed lazy sandbox cannot be opened", async () => {
  const lazy = newSandbox();
  await lazy[Symbol.asyncDispose]();
  await expect(lazy.open()).rejects.toMatchObject({ code: "session_closed" });
  expect(lazy.opened).toBeUndefined();
});

test("a listener added before a lazy sandbox opens is called for changed files until it is removed", async () => {
  const lazy = newSandbox();
  let calls = 0;
  const stop = lazy.onArtifactsChanged(() => calls++);
  const sandbox = await lazy.open();
  sandbox.artifactsChanged();
  stop();
  sandbox.artifactsChanged();
  expect(calls).toBe(1);
});
