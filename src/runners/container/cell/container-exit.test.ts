import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import type { AttachedStream } from "../engine/attached-stream.ts";
import { type EngineClient, EngineRefusal, type EngineRequest } from "../engine/engine-client.ts";
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

test("Podman is asked at an interval, because its own polling would take a whole core", async () => {
  const stream = Object.assign(new EventEmitter(), { log: "" });
  const asked: unknown[] = [];
  const client = {
    address: { kind: "podman", name: "Podman", shown: "unix:///podman.sock" },
    json: async ({ path, query }: EngineRequest) => {
      asked.push([path, query]);
      setImmediate(() => stream.emit("close"));
      return 137;
    },
  };
  const exit = await containerExit(
    client as unknown as EngineClient,
    "abc",
    stream as unknown as AttachedStream,
    Promise.resolve(),
  );
  expect(asked).toEqual([["/libpod/containers/abc/wait", { interval: "100ms" }]]);
  expect(exit).toMatchObject({ code: 137, reason: { message: expect.stringContaining("the container was killed") } });
});
