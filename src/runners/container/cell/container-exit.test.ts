import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import type { AttachedStream } from "../engine/attached-stream.ts";
import { type EngineClient, EngineRefusal } from "../engine/engine-client.ts";
import { containerExit } from "./container-exit.ts";

test("a container that is removed before its last words arrive still has them in its exit", async () => {
  const stream = Object.assign(new EventEmitter(), { log: "" });
  const client = {
    address: { name: "Docker", shown: "unix:///docker.sock" },
    json: async () => {
      // The engine has removed the container, and its output is still on the way.
      setImmediate(() => {
        stream.log = "a mounted directory was replaced by another one";
        stream.emit("close");
      });
      throw new EngineRefusal(404, "No such container");
    },
  };
  const exit = await containerExit(
    client as unknown as EngineClient,
    "abc",
    stream as unknown as AttachedStream,
    Promise.resolve(),
  );
  expect(exit).toMatchObject({
    diagnostics: "a mounted directory was replaced by another one",
    reason: { message: "the container no longer exists" },
  });
});
