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

test("a call after the sandbox was disposed opens nothing", async () => {
  const lazy = newSandbox();
  await lazy[Symbol.asyncDispose]();
  await expect(lazy.open()).rejects.toMatchObject({ code: "session_closed" });
  expect(lazy.opened).toBeUndefined();
});

test("a listener added before the sandbox opens hears about changed files until it is removed", async () => {
  const lazy = newSandbox();
  let heard = 0;
  const stop = lazy.onArtifactsChanged(() => heard++);
  const sandbox = await lazy.open();
  sandbox.artifactsChanged();
  stop();
  sandbox.artifactsChanged();
  expect(heard).toBe(1);
});
