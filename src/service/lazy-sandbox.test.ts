import { expect, test } from "vitest";
import { SandboxDoor } from "./lazy-sandbox.ts";

const newDoor = () =>
  new SandboxDoor({ projectDir: "/nowhere", open: () => Promise.reject(new Error("it must not be opened")) });

test("everybody gets the same sandbox, and nobody one before it is asked for", async () => {
  const door = newDoor();
  expect(door.opened).toBeUndefined();
  const [one, other] = await Promise.all([door.open(), door.open()]);
  expect(one).toBe(other);
  expect(door.opened).toBe(one);
});

test("a call that comes after the end opens nothing", async () => {
  const door = newDoor();
  await door[Symbol.asyncDispose]();
  await expect(door.open()).rejects.toMatchObject({ code: "session_closed" });
  expect(door.opened).toBeUndefined();
});

test("who listened before the sandbox was there hears of its files, until they stop listening", async () => {
  const door = newDoor();
  let heard = 0;
  const stop = door.onArtifactsChanged(() => heard++);
  const sandbox = await door.open();
  sandbox.artifactsChanged();
  stop();
  sandbox.artifactsChanged();
  expect(heard).toBe(1);
});
