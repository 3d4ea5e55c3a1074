import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { expect, test } from "vitest";
import { withStreams } from "./with-streams.ts";

test("a process that Node could not give streams is refused, and its error event ends nothing", () => {
  const child = new EventEmitter() as ChildProcess;
  expect(() => withStreams(child)).toThrow("no file descriptors");
  expect(child.emit("error", new Error("spawn EMFILE"))).toBe(true);
});

test("a process that has its streams is returned, also if its program does not exist", async () => {
  const child = withStreams(spawn("/does/not/exist", [], { stdio: "pipe" }));
  expect(await once(child, "error")).toMatchObject([{ code: "ENOENT" }]);
});
