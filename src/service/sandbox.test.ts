import { expect, test } from "vitest";
import { CodecellError } from "../lib/errors.ts";
import type { Codecell } from "../sessions/codecell.ts";
import { Sandbox } from "./sandbox.ts";

test("a sandbox opens its sessions once, when they are first needed", async () => {
  let opened = 0;
  let closed = 0;
  const sessions = { [Symbol.asyncDispose]: async () => void closed++ } as unknown as Codecell;
  const open = async () => {
    opened++;
    return sessions;
  };
  const sandbox = new Sandbox({ projectDir: "/nowhere", open });
  expect(sandbox.opened).toBeUndefined();
  expect(await Promise.all([sandbox.sessions(), sandbox.sessions()])).toEqual([sessions, sessions]);
  await sandbox[Symbol.asyncDispose]();
  await sandbox[Symbol.asyncDispose]();
  expect([opened, closed]).toEqual([1, 1]);
  expect(() => sandbox.sessions()).toThrow(/shutting down/);
});

test("a sandbox that failed to open its sessions tries again", async () => {
  let calls = 0;
  const sessions = {} as Codecell;
  const open = async () => {
    if (calls++ === 0) throw new CodecellError("runner_unavailable", "nothing is installed");
    return sessions;
  };
  const sandbox = new Sandbox({ projectDir: "/nowhere", open });
  await expect(sandbox.sessions()).rejects.toMatchObject({ code: "runner_unavailable" });
  expect(await sandbox.sessions()).toBe(sessions);
});

test("disposing an unused sandbox opens nothing", async () => {
  const sandbox = new Sandbox({
    projectDir: "/nowhere",
    open: () => Promise.reject(new Error("it must not be opened")),
  });
  await sandbox[Symbol.asyncDispose]();
});
