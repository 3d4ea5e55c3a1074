import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { readdirSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { EgressProcess } from "../../src/egress/process/egress-process.ts";
import type { SessionEgress } from "../../src/egress/process/session-egress.ts";
import type { EgressEvent } from "../../src/egress/rules/events.ts";
import { silentLogger } from "../../src/lib/log/logger.ts";
import { eventually, hostProcesses } from "../support/process-cells.ts";

const server = createHttpServer((request, answer) => answer.end(`hello ${request.headers.host}`));
let port = 0;
let runtimeDir = "";
let egress: EgressProcess;
const log = new EventEmitter();

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
});
afterAll(() => server.close());
beforeEach(async () => {
  runtimeDir = await mkdtemp(join(tmpdir(), "egress-"));
  const logger = { ...silentLogger, info: (message: string) => void log.emit(message) };
  egress = new EgressProcess({ runtimeDir, fixedAddresses: { "good.example": "127.0.0.1" }, logger });
});
afterEach(async () => {
  await egress[Symbol.asyncDispose]();
  await rm(runtimeDir, { recursive: true, force: true });
});

/** A connection as a carrier passes it on; the far end belongs to a client. */
async function dialled(session: SessionEgress): Promise<Socket> {
  const hub = createServer({ allowHalfOpen: true }, (near) => session.accept(near));
  hub.listen(0, "127.0.0.1");
  await once(hub, "listening");
  const far = connect({ port: (hub.address() as AddressInfo).port, allowHalfOpen: true });
  far.on("error", () => {});
  await once(hub, "connection");
  hub.close();
  return far;
}

async function get(session: SessionEgress, host: string, fields = ""): Promise<string> {
  const client = await dialled(session);
  client.write(`GET http://${host}:${port}/ HTTP/1.1\r\nHost: ${host}:${port}\r\nConnection: close\r\n${fields}\r\n`);
  return text(client);
}

const rules = () => ({ enabled: true, allowlist: [`good.example:${port}`], deny: [] });
const ownProxies = () =>
  hostProcesses().filter(
    ({ command, status }) => command.includes("egress/process/proxy-process.js") && Number(status.PPid) === process.pid,
  );

test("the proxy process carries a session's connections, reports its decisions, and leaves nothing behind", async () => {
  const events: EgressEvent[] = [];
  const session = await egress.openSession(rules(), (event) => events.push(event));
  expect(await get(session, "good.example")).toContain(`hello good.example:${port}`);
  expect(await get(session, "evil.example")).toMatch(
    /^HTTP\/1\.1 403 codecell: evil\.example is not in net\.allowlist/,
  );
  await session.flush();
  expect(events.map(({ type, host }) => [type, host])).toEqual(
    expect.arrayContaining([
      ["allowed", "good.example"],
      ["denied", "evil.example"],
    ]),
  );
  await session[Symbol.asyncDispose]();
  await egress[Symbol.asyncDispose]();
  expect(await readdir(runtimeDir)).toEqual([]);
});

test("the proxy process has separate rules for each session", async () => {
  const open = await egress.openSession(rules(), () => {});
  const shut = await egress.openSession({ ...rules(), allowlist: [] }, () => {});
  expect(await get(open, "good.example")).toMatch(/^HTTP\/1\.1 200/);
  expect(await get(shut, "good.example")).toMatch(/^HTTP\/1\.1 403/);
});

test("the proxy process applies changed rules at once", async () => {
  const session = await egress.openSession(rules(), () => {});
  expect(await get(session, "good.example")).toMatch(/^HTTP\/1\.1 200/);
  await session.update({ ...rules(), deny: ["good.example"] });
  expect(await get(session, "good.example")).toMatch(/^HTTP\/1\.1 403 codecell: good\.example is in net\.deny/);
});

test("a killed proxy is restarted with the current rules", async () => {
  const before = new Set(ownProxies().map(({ pid }) => pid));
  const session = await egress.openSession(rules(), () => {});
  await session.update({ ...rules(), deny: ["good.example"] });
  const [killed] = ownProxies().filter(({ pid }) => !before.has(pid));
  const hanging = await dialled(session);
  const over = new Promise((done) => hanging.resume().once("end", done).once("close", done));
  const noticed = once(log, "the egress proxy exited");
  process.kill(killed?.pid ?? 0, "SIGKILL");
  await noticed;
  await over;
  expect(await get(session, "good.example")).toMatch(/^HTTP\/1\.1 403 codecell: good\.example is in net\.deny/);
});

test("a session opens although the proxy is killed while it opens", async () => {
  const before = new Set(ownProxies().map(({ pid }) => pid));
  await egress.openSession(rules(), () => {});
  const [killed] = ownProxies().filter(({ pid }) => !before.has(pid));
  process.kill(killed?.pid ?? 0, "SIGSTOP"); // it cannot answer any more
  const opening = egress.openSession(rules(), () => {});
  process.kill(killed?.pid ?? 0, "SIGKILL");
  expect(await get(await opening, "good.example")).toContain("hello good.example");
});

test("a restarted proxy gets the secrets of each session again, and mixes none", async () => {
  const secret = { from: "env:X", hosts: [`good.example:${port}`], headers: ["x-key"], query: false, plaintext: true };
  const keys = (value: string) => {
    return { secrets: [{ name: "X", placeholder: "cc_secret_0123456789abcdef", value, hosts: ["good.example"] }] };
  };
  const before = new Set(ownProxies().map(({ pid }) => pid));
  const one = await egress.openSession({ ...rules(), secrets: { X: secret } }, () => {}, keys("value-of-one"));
  const two = await egress.openSession({ ...rules(), secrets: { X: secret } }, () => {}, keys("value-of-two"));
  const ask = async (session: SessionEgress) => {
    const [request] = (
      await Promise.all([
        once(server, "request"),
        get(session, "good.example", "X-Key: cc_secret_0123456789abcdef\r\n"),
      ])
    )[0] as [IncomingMessage];
    return request.headers["x-key"];
  };
  expect([await ask(one), await ask(two)]).toEqual(["value-of-one", "value-of-two"]);
  const [killed] = ownProxies().filter(({ pid }) => !before.has(pid));
  const noticed = once(log, "the egress proxy exited");
  process.kill(killed?.pid ?? 0, "SIGKILL");
  await noticed;
  expect([await ask(one), await ask(two)]).toEqual(["value-of-one", "value-of-two"]);
});

test("a proxy that does not accept changed rules is killed with its connections", async () => {
  const before = new Set(ownProxies().map(({ pid }) => pid));
  const session = await egress.openSession(rules(), () => {});
  const [stuck] = ownProxies().filter(({ pid }) => !before.has(pid));
  const carried = await dialled(session);
  const over = new Promise((done) => carried.resume().once("end", done).once("close", done));
  process.kill(stuck?.pid ?? 0, "SIGSTOP");
  await session.update({ ...rules(), deny: ["good.example"] });
  await over;
  expect(await get(session, "good.example")).toMatch(/^HTTP\/1\.1 403 codecell: good\.example is in net\.deny/);
});

test("the proxy lifts address rules only for names with a fixed address", async () => {
  const session = await egress.openSession(
    { enabled: true, allowlist: ["localhost.localdomain:1"], deny: [] },
    () => {},
  );
  const client = await dialled(session);
  client.write("CONNECT localhost.localdomain:1 HTTP/1.1\r\nHost: localhost.localdomain:1\r\n\r\n");
  expect(await text(client)).toMatch(
    /^HTTP\/1\.1 (403 codecell: .* closed: loopback|502 codecell: .* could not be resolved)/,
  );
});

test("the proxy exits with the program that started it, however that ended, and closes its sockets", async () => {
  const entry = new URL("../../dist/egress/process/egress-process.js", import.meta.url).href;
  const script = `
    const { EgressProcess } = await import(${JSON.stringify(entry)});
    const egress = new EgressProcess({ runtimeDir: ${JSON.stringify(runtimeDir)} });
    await egress.openSession({ enabled: true, allowlist: [], deny: [] }, () => {});
    process.stdout.write("up");
    setInterval(() => {}, 1000);`;
  const host = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  await once(host.stdout, "data");
  const left = await readdir(runtimeDir);
  expect(left).toEqual([expect.stringMatching(/^egress-\w+$/), `${left[0]}.alive`]);
  host.kill("SIGKILL");
  await once(host, "exit");
  expect(await eventually(() => readdirSync(runtimeDir).length === 0)).toBe(true);
});
