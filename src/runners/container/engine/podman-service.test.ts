import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { startPodmanService } from "./podman-service.ts";

/** As Podman's API does, it exits when no connection was open for the time in `--time`. */
const program = `#!${process.execPath}
const { createServer } = require("node:http");
const [idle, address] = process.argv.slice(-2);
let open = 0, timer;
const wait = () => { timer = setTimeout(() => process.exit(0), Number(idle.split("=")[1]) * 1000); };
const server = createServer((_, response) => response.end("OK"));
server.on("connection", (connection) => {
  open++;
  clearTimeout(timer);
  connection.on("close", () => { if (--open === 0) wait(); });
});
server.listen(address.slice("unix://".length));
wait();
`;

async function start(staysAlive: boolean) {
  const directory = await mkdtemp(join(tmpdir(), "cc-podman-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const podman = join(directory, "podman.cjs");
  await writeFile(podman, program, { mode: 0o755 });
  const socket = join(directory, "api.sock");
  const service = await startPodmanService({ socket, env: {}, program: podman, idleSeconds: 1, staysAlive });
  if (service === undefined) throw new Error("the fake Podman did not start");
  onTestFinished(() => service[Symbol.asyncDispose]());
  return service;
}

/** Longer than the idle time: a step such as debootstrap, which needs no engine. */
const slowStepMs = 2_500;

test("Podman's API stays alive through a slow step without requests, and ends when it is disposed", async () => {
  const [kept, plain] = await Promise.all([start(true), start(false)]);
  await pause(slowStepMs);
  expect({ kept: kept.isAlive, plain: plain.isAlive }).toEqual({ kept: true, plain: false });
  await kept[Symbol.asyncDispose]();
  expect(kept.isAlive).toBe(false);
});
