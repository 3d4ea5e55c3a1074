import { once } from "node:events";
import { chmod, lstat, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeRunner } from "../../../test/fakes/fake-runner.ts";
import { Codecell } from "../codecell.ts";
import { askProcesses } from "./ask-processes.ts";

let runtimeDir: string;
beforeEach(async () => {
  runtimeDir = await mkdtemp(join(tmpdir(), "codecell-ps-"));
  await chmod(runtimeDir, 0o711);
});
afterEach(() => rm(runtimeDir, { recursive: true, force: true }));

const open = (heldBy: string, options: ConstructorParameters<typeof FakeRunner>[0] = {}) =>
  Codecell.open({ runners: [new FakeRunner(options)], stateDir: join(runtimeDir, "state"), runtimeDir, heldBy });

test("lists what each open codecell holds, while it holds it", async () => {
  let finish = () => {};
  let begun = () => {};
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const program = () => {
    begun();
    return new Promise<{ result: string }>((resolve) => {
      finish = () => resolve({ result: "1" });
    });
  };
  const codecell = await open("serve", { program });
  expect(await askProcesses(runtimeDir)).toMatchObject({ processes: [{ heldBy: "serve", sessions: [] }], silent: 0 });
  const session = await codecell.session("demo");
  const run = session.run("1");
  await hasBegun;
  const [busy] = (await askProcesses(runtimeDir)).processes;
  expect(busy).toMatchObject({ pid: process.pid, stateDir: join(runtimeDir, "state"), runner: "wasm" });
  expect(busy?.sessions).toMatchObject([{ id: "demo", activity: "running", runs: 1, busyMs: expect.any(Number) }]);
  finish();
  await run;
  const [idle] = (await askProcesses(runtimeDir)).processes;
  expect(idle?.sessions).toMatchObject([{ id: "demo", activity: "idle", runs: 1 }]);
  expect(idle?.sessions[0]).not.toHaveProperty("busyMs");
  await codecell.close();
  expect(await askProcesses(runtimeDir)).toEqual({ processes: [], silent: 0 });
});

test("the id of a tenant's session is told without its namespace", async () => {
  await using codecell = await open("serve");
  await codecell.session("ns-0123456789ab.work");
  const [status] = (await askProcesses(runtimeDir)).processes;
  expect(status?.sessions).toMatchObject([{ id: "work", tenant: "ns-0123456789ab" }]);
});

test("only this user can connect to the socket that answers", async () => {
  await using _codecell = await open("serve");
  const [name = ""] = (await readdir(runtimeDir)).filter((entry) => entry.startsWith("owner-"));
  expect((await lstat(join(runtimeDir, name))).mode & 0o777).toBe(0o600);
});

test("a socket that a killed process left behind is not listed", async () => {
  const path = join(runtimeDir, "owner-m000000000000");
  const { spawn } = await import("node:child_process");
  const script = `require("net").createServer().listen(${JSON.stringify(path)}, () => process.stdout.write("up"))`;
  const owner = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  await once(owner.stdout, "data");
  owner.kill("SIGKILL");
  await once(owner, "exit");
  await writeFile(join(runtimeDir, "owner-m111111111111"), "not a socket");
  expect(await askProcesses(runtimeDir)).toEqual({ processes: [], silent: 0 });
});

test.each([
  ["closes the connection", (end: (text: string) => void) => end("")],
  ["answers what is not JSON", (end: (text: string) => void) => end("{")],
  ["answers another shape", (end: (text: string) => void) => end('{"pid": "1"}')],
  ["answers without an end", (end: (text: string) => void) => end(`"${"x".repeat(2 * 1024 * 1024)}"`)],
])("a process that %s is counted, and does not keep others from being listed", async (_what, reply) => {
  await using _codecell = await open("mcp");
  const server = createServer((socket) => {
    socket.on("error", () => {});
    reply((text) => socket.end(text));
  });
  server.listen(join(runtimeDir, "owner-m000000000000"));
  await once(server, "listening");
  expect(await askProcesses(runtimeDir)).toMatchObject({ processes: [{ heldBy: "mcp" }], silent: 1 });
  server.close();
});

test("a question that is too long closes the connection", async () => {
  await using _codecell = await open("mcp");
  const [name = ""] = (await readdir(runtimeDir)).filter((entry) => entry.startsWith("owner-"));
  const socket = connect(join(runtimeDir, name));
  socket.on("error", () => {});
  let answer = "";
  socket.on("data", (chunk) => (answer += chunk));
  socket.write("status\nstatus\nstatus\n");
  await once(socket, "close");
  expect(answer).toBe("");
});

test("closing a codecell does not wait for somebody who connected and asks nothing", async () => {
  const codecell = await open("mcp");
  const [name = ""] = (await readdir(runtimeDir)).filter((entry) => entry.startsWith("owner-"));
  const socket = connect(join(runtimeDir, name));
  socket.on("error", () => {});
  const closed = once(socket, "close");
  await once(socket, "connect");
  await codecell.close();
  socket.resume();
  await closed;
});
