import { expect, test } from "vitest";
import { LazySandbox } from "./lazy-sandbox.ts";

const newSandbox = () =>
  new LazySandbox({ projectDir: "/nowhere", open: () => Promise.reject(new Error("it must not be opened")) });

test("everybody gets the same sandbox, and nobody one before it is asked for", async () => {
  const lazy = newSandbox();
  expect(lazy.opened).toBeUndefined();
  const [one, other] = await Promise.all([lazy.open(), lazy.open()]);
  expect(one).toBe(other);
  expect(lazy.opened).toBe(one);
});

test("a call that comes after the end opens nothing", async () => {
  const lazy = newSandbox();
  await lazy[Symbol.asyncDispose]();
  await expect(lazy.open()).rejects.toMatchObject({ code: "session_closed" });
  expect(lazy.opened).toBeUndefined();
});

test("who listened before the sandbox was there hears of its files, until they stop listening", async () => {
  const lazy = newSandbox();
  let heard = 0;
  const stop = lazy.onArtifactsChanged(() => heard++);
  const sandbox = await lazy.open();
  sandbox.artifactsChanged();
  stop();
  sandbox.artifactsChanged();
  expect(heard).toBe(1);
});
