import { EventEmitter, once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { clientHello, inRecordsOf } from "../../../test/support/client-hello.ts";
import { LoopbackServers } from "../../../test/support/loopback-servers.ts";
import { deny, type EgressRules, malformed } from "../rules/decide.ts";
import type { EgressEvent } from "../rules/events.ts";
import type { EgressTimes } from "../rules/limits.ts";
import { EgressProxy } from "./proxy.ts";
import { type Resolve, withFixedAddresses } from "./resolver.ts";

let loopback: LoopbackServers;
beforeEach(() => {
  loopback = new LoopbackServers();
});
afterEach(() => loopback[Symbol.asyncDispose]());

const fixed = { "good.example": "127.0.0.1", "other.example": "127.0.0.1", "xn--bcher-kva.example": "127.0.0.1" };

async function openProxy(rules: Partial<EgressRules>, more: { times?: Partial<EgressTimes>; resolve?: Resolve } = {}) {
  const events: EgressEvent[] = [];
  const noAnswers: Resolve = async () => [];
  const proxy = new EgressProxy({
    rules: { enabled: true, allowlist: [], deny: [], ...rules },
    onEvent: (event) => events.push(event),
    resolve: more.resolve ?? withFixedAddresses(fixed, noAnswers),
    ...(more.times ? { times: more.times } : {}),
  });
  loopback.proxies.push(proxy);
  const port = await loopback.listen(createServer({ allowHalfOpen: true }, (socket) => proxy.accept(socket)));
  const client = (): Socket => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    socket.on("error", () => {});
    loopback.sockets.push(socket);
    return socket;
  };
  /** Sends raw bytes and reads until the proxy closes the connection. */
  const exchange = async (bytes: string | Buffer): Promise<string> => {
    const socket = client();
    socket.write(bytes);
    return text(socket);
  };
  return { proxy, events, client, exchange };
}

/** An HTTP server that echoes the request it saw. */
async function mirror(): Promise<{ port: number; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = [];
  const server = createHttpServer(async (request, answer) => {
    seen.push(request);
    const body = await text(request);
    answer.end(`${request.method} ${request.headers.host}${request.url} ${body}`);
  });
  return { port: await loopback.listen(server), seen };
}

/** A server that records what it is sent. */
async function sink(): Promise<{ port: number; received: () => Buffer; waitFor: (bytes: number) => Promise<void> }> {
  const chunks: Buffer[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      server.emit("grown");
    });
  });
  const received = () => Buffer.concat(chunks);
  return {
    port: await loopback.listen(server),
    received,
    async waitFor(bytes) {
      while (received().length < bytes) await once(server, "grown");
    },
  };
}

describe("a plain HTTP request", () => {
  test("reaches an allowed host with its Host header and body", async () => {
    const { port } = await mirror();
    const { exchange, events } = await openProxy({ allowlist: [`good.example:${port}`] });
    const request = `POST http://good.example:${port}/a?b HTTP/1.1\r\nHost: good.example:${port}\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody`;
    const answer = await exchange(request);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toContain(`POST good.example:${port}/a?b body`);
    expect(events[0]).toMatchObject({ type: "allowed", host: "good.example", port, rule: `good.example:${port}` });
    await waitUntil(() => events.some(({ type }) => type === "closed"));
    expect(events.at(-1)).toMatchObject({ type: "closed" });
  });

  test("a request to a host that is not allowed is refused with a reason in the status line and the body", async () => {
    const { exchange, events } = await openProxy({ allowlist: ["good.example"] });
    const answer = await exchange("GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 403 codecell: evil\.example is not in net\.allowlist\r\n/);
    expect(answer).toContain("\r\n\r\n");
    expect(answer).toContain("add evil.example to net.allowlist");
    expect(events).toMatchObject([{ type: "denied", host: "evil.example", port: 80, code: "not_named" }]);
  });

  test("a client that sends its body after the refusal gets no reset", async () => {
    const { client } = await openProxy({});
    const socket = client();
    const failures: unknown[] = [];
    socket.on("error", (error) => failures.push(error));
    socket.write("POST http://bad.example/ HTTP/1.1\r\nhost: bad.example\r\ncontent-length: 2\r\n\r\n");
    const [first] = await once(socket, "data");
    expect(String(first)).toContain("403");
    const ended = once(socket, "end");
    socket.write("x");
    await new Promise(setImmediate);
    socket.write("y");
    await ended;
    expect(failures).toEqual([]);
  });

  test("every request on a keep-alive connection is checked separately", async () => {
    const { port, seen } = await mirror();
    const { exchange } = await openProxy({ allowlist: [`good.example:${port}`] });
    const to = (host: string) => `GET http://${host}:${port}/ HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`;
    const answer = await exchange(to("good.example") + to("other.example") + to("good.example"));
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 403"]);
    expect(seen.map(({ headers }) => headers.host)).not.toContain(`other.example:${port}`);
  });

  test.each([
    ["both a length and chunks", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"],
    ["an unknown encoding", "Transfer-Encoding: xchunked\r\n"],
    ["a bare line feed", "X: a\nHost: evil.example\r\n"],
    ["a folded header", "X: a\r\n b\r\n"],
    ["a space before the colon", "Host : evil.example\r\n"],
    ["two Host headers", "Host: evil.example\r\n"],
  ])("a request with %s never reaches the server", async (_, fields) => {
    const { port, seen } = await mirror();
    const { exchange, events } = await openProxy({ allowlist: [`good.example:${port}`] });
    const head = `POST http://good.example:${port}/ HTTP/1.1\r\nHost: good.example:${port}\r\n${fields}\r\n0\r\n\r\n`;
    expect(await exchange(head)).toMatch(/^HTTP\/1\.1 400 /);
    expect(seen).toEqual([]);
    expect(events[0]).toMatchObject({ type: "denied", code: "malformed" });
  });

  test("a request whose Host header names another host is refused", async () => {
    const { port, seen } = await mirror();
    const { exchange } = await openProxy({ allowlist: [`good.example:${port}`] });
    const answer = await exchange(`GET http://good.example:${port}/ HTTP/1.1\r\nHost: evil.example\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 403 codecell: the Host header does not name good\.example/);
    expect(seen).toEqual([]);
  });

  test("a server whose response is not HTTP gives a 502", async () => {
    const port = await loopback.listen(createServer((socket) => socket.on("error", () => {}).end("nonsense\r\n\r\n")));
    const { exchange } = await openProxy({ allowlist: [`good.example:${port}`] });
    const answer = await exchange(`GET http://good.example:${port}/ HTTP/1.1\r\nHost: good.example:${port}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 502 codecell: good\.example did not answer as HTTP/);
  });

  test("a redirect is passed on and not followed", async () => {
    const server = createHttpServer((_, answer) => answer.writeHead(302, { location: "http://evil.example/" }).end());
    const port = await loopback.listen(server);
    const { exchange, events } = await openProxy({ allowlist: [`good.example:${port}`] });
    const head = `GET http://good.example:${port}/ HTTP/1.1\r\nHost: good.example:${port}\r\nConnection: close\r\n\r\n`;
    expect(await exchange(head)).toMatch(/^HTTP\/1\.1 302 Found\r\nlocation: http:\/\/evil\.example\//);
    expect(events.filter(({ type }) => type === "denied")).toEqual([]);
  });
});

describe("name resolution", () => {
  test.each([
    ["loopback", ["127.0.0.1"]],
    ["the metadata service", ["169.254.169.254"]],
    ["a private address beside a public one", ["93.184.216.34", "10.0.0.1"]],
    ["mapped IPv4", ["::ffff:10.0.0.1"]],
  ])("an allowed name that resolves to %s is refused, and the cell does not see the address", async (_, addresses) => {
    const resolve: Resolve = async () => addresses.map((address) => ({ address, isFixed: false }));
    const { exchange, events } = await openProxy({ allowlist: ["good.example"] }, { resolve });
    const answer = await exchange("GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 403 codecell: good\.example resolves to an address that is not allowed/);
    for (const address of addresses) expect(answer).not.toContain(address);
    expect(events).toMatchObject([{ type: "denied", code: "address", address: expect.any(String) }]);
  });

  test("a name is looked up once for each request", async () => {
    const { port } = await mirror();
    let lookups = 0;
    const resolve: Resolve = async () => [{ address: ++lookups > 1 ? "10.0.0.1" : "127.0.0.1", isFixed: true }];
    const { exchange } = await openProxy({ allowlist: [`good.example:${port}`] }, { resolve });
    const head = `GET http://good.example:${port}/ HTTP/1.1\r\nHost: good.example:${port}\r\nConnection: close\r\n\r\n`;
    expect(await exchange(head)).toMatch(/^HTTP\/1\.1 200/);
    expect(lookups).toBe(1);
  });

  test("a name that cannot be resolved gives a 502 that says so", async () => {
    const { exchange, events } = await openProxy({ allowlist: ["nowhere.example"] });
    const answer = await exchange("CONNECT nowhere.example:443 HTTP/1.1\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 (400|502)/);
    const named = await exchange("CONNECT nowhere.example:443 HTTP/1.1\r\nHost: nowhere.example:443\r\n\r\n");
    expect(named).toMatch(/^HTTP\/1\.1 502 codecell: nowhere\.example could not be resolved/);
    expect(events.at(-1)).toMatchObject({ type: "failed", host: "nowhere.example" });
  });
});

describe("CONNECT", () => {
  const connectTo = (port: number, host = "good.example") =>
    `CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`;
  const established = "HTTP/1.1 200 Connection established\r\n\r\n";

  /** A tunnel to a test port instead of 443, on which tests cannot listen. TLS is required by hand. */
  async function tunnelled(hello: Buffer, host = "good.example") {
    const upstream = await sink();
    const { client, events } = await openProxy({ allowlist: [`${host}:${upstream.port}`] });
    const socket = client();
    socket.write(Buffer.concat([Buffer.from(connectTo(upstream.port, host)), hello]));
    return { upstream, socket, events };
  }

  test("passes on a ClientHello that names the host unchanged, also one sent together with the request", async () => {
    const hello = await clientHello("good.example");
    const { upstream } = await tunnelled(hello);
    await upstream.waitFor(hello.length);
    expect(upstream.received().equals(hello)).toBe(true);
  });

  test.each<[string, () => Promise<Buffer>]>([
    ["names another host", () => clientHello("evil.example")],
    ["names another host in records of one byte", async () => inRecordsOf(1, await clientHello("evil.example"))],
    ["names no host", () => clientHello(undefined)],
  ])("a ClientHello that %s gets a TLS alert and never reaches the server", async (_, hello) => {
    const { upstream, socket, events } = await tunnelled(await hello());
    const answer = await text(socket);
    expect(answer.startsWith(established)).toBe(true);
    expect(Buffer.from(answer.slice(established.length), "latin1")).toEqual(Buffer.from([21, 3, 1, 0, 2, 2, 112]));
    expect(upstream.received()).toHaveLength(0);
    expect(events).toContainEqual(expect.objectContaining({ type: "denied", code: "server_name" }));
  });

  test("a server may send the first bytes on a port that the policy names", async () => {
    const port = await loopback.listen(createServer((socket) => socket.end("hello from the server")));
    const { exchange } = await openProxy({ allowlist: [`good.example:${port}`] });
    expect(await exchange(connectTo(port))).toBe(`${established}hello from the server`);
  });

  test.each(["good.example", "good.example:0443", "a@good.example:443", "[::1]:443", "good.example:443/x"])(
    "a CONNECT to %s gets a 400",
    async (authority) => {
      const { exchange, events } = await openProxy({ allowlist: ["good.example"] });
      const answer = await exchange(`CONNECT ${authority} HTTP/1.1\r\nHost: good.example:443\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 400 codecell: /);
      expect(events).toMatchObject([{ type: "denied", code: "malformed" }]);
    },
  );

  test("a refused client that resets its connection does not affect others", async () => {
    const { client, exchange } = await openProxy({});
    const rude = client();
    rude.write(connectTo(443));
    await once(rude, "data");
    rude.resetAndDestroy();
    expect(await exchange(connectTo(443))).toMatch(/^HTTP\/1\.1 403/);
  });

  test("an open tunnel is cut when the rules no longer allow it, and others are not", async () => {
    const upstream = await sink();
    const rules = {
      enabled: true,
      allowlist: [`good.example:${upstream.port}`, `other.example:${upstream.port}`],
      deny: [],
    };
    const { client, proxy, events } = await openProxy(rules);
    const [doomed, spared] = [client(), client()];
    doomed.write(connectTo(upstream.port));
    spared.write(connectTo(upstream.port, "other.example"));
    await Promise.all([once(doomed, "data"), once(spared, "data")]);
    proxy.update({ ...rules, deny: ["good.example"] });
    await hungUp(doomed);
    expect(events).toContainEqual(expect.objectContaining({ type: "denied", host: "good.example", code: "denied" }));
    spared.write("still here");
    await upstream.waitFor(10);
  });

  /** A name server that answers when the test says so. */
  function slowResolver() {
    const asked = new EventEmitter();
    const resolve: Resolve = async () => {
      setImmediate(() => asked.emit("asked"));
      await once(asked, "answer");
      return [{ address: "127.0.0.1", isFixed: true }];
    };
    return { resolve, asked };
  }

  test("a connection attempt is aborted with a reason when its rule is removed", async () => {
    const { resolve, asked } = slowResolver();
    const { client, exchange, proxy, events } = await openProxy({ allowlist: ["good.example"] }, { resolve });
    const tunnel = client();
    tunnel.write(connectTo(443));
    await once(asked, "asked");
    const plain = exchange("GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n");
    await once(asked, "asked");
    proxy.update({ enabled: true, allowlist: [], deny: [] });
    await hungUp(tunnel);
    asked.emit("answer");
    expect(await plain).toMatch(/^HTTP\/1\.1 403 codecell: good\.example is not in net\.allowlist/);
    expect(events.map(({ type }) => type)).toEqual(["denied", "denied"]);
  });

  test("a tunnel that was not checked for TLS is cut when the rules require TLS", async () => {
    const { resolve, asked } = slowResolver();
    const { client, proxy, events } = await openProxy({ allowlist: ["good.example:80"] }, { resolve });
    const tunnel = client();
    tunnel.write(connectTo(80));
    await once(asked, "asked");
    proxy.update({ enabled: true, allowlist: ["good.example"], deny: [] });
    await hungUp(tunnel);
    expect(events).toMatchObject([{ type: "denied", code: "needs_tls" }]);
  });

  test("an idle tunnel is closed", async () => {
    const upstream = await sink();
    const allowlist = [`good.example:${upstream.port}`];
    const { client, events } = await openProxy({ allowlist }, { times: { idleMs: 30 } });
    const socket = client();
    socket.write(connectTo(upstream.port));
    await hungUp(socket);
    expect(events.at(-1)).toMatchObject({ type: "closed", failure: "the connection was idle for too long" });
  });

  test.each([
    ["sent", { sentBytes: 1024 }, "the session has sent the 1KiB that net.sent allows"],
    ["received", { receivedBytes: 1024 }, "the session has received the 1KiB that net.received allows"],
  ])("a session that has %s its quota is cut off, and further requests are refused", async (_, quota, reason) => {
    const port = await loopback.listen(createServer((socket) => socket.on("error", () => {}).pipe(socket)));
    const { client, exchange, events } = await openProxy({ allowlist: [`good.example:${port}`], ...quota });
    const socket = client();
    socket.write(connectTo(port));
    await once(socket, "data");
    socket.write(Buffer.alloc(2000));
    await hungUp(socket);
    const answer = await exchange(connectTo(port));
    expect(answer.split("\r\n")[0]).toBe(`HTTP/1.1 429 codecell: ${reason}`);
    expect(answer).toContain("in the policy");
    expect(events).toContainEqual(expect.objectContaining({ type: "denied", code: "limit", reason }));
  });
});

describe("SOCKS", () => {
  const socksTo = (host: string, port: number) =>
    Buffer.concat([
      Buffer.from([5, 1, 0, 5, 1, 0, 3, Buffer.byteLength(host)]),
      Buffer.from(host),
      Buffer.from([port >> 8, port & 255]),
    ]);
  const replies = (answer: string) => [...Buffer.from(answer, "latin1")].slice(0, 4);

  test("reaches a port that the policy names, also if the client sends byte by byte", async () => {
    const port = await loopback.listen(createServer((socket) => socket.end("hello")));
    const { client } = await openProxy({ allowlist: [`good.example:${port}`] });
    const socket = client();
    socket.setNoDelay(true);
    for (const byte of socksTo("good.example", port)) socket.write(Buffer.from([byte]));
    const answer = Buffer.concat(await socket.toArray());
    expect([...answer.subarray(0, 4)]).toEqual([5, 0, 5, 0]);
    expect(answer.subarray(12).toString()).toBe("hello");
  });

  test("reaches an international name, which is converted to punycode at once", async () => {
    const port = await loopback.listen(createServer((socket) => socket.end("hello")));
    const { exchange, events } = await openProxy({ allowlist: [`xn--bcher-kva.example:${port}`] });
    expect(await exchange(socksTo("bücher.example", port))).toMatch(/hello$/);
    expect(events[0]).toMatchObject({ type: "allowed", host: "xn--bcher-kva.example" });
  });

  test.each([
    ["a NUL in the name", "evil.example\0.good.example", 22],
    ["an address in place of a name", "127.0.0.1", 22],
    ["a port that no entry names", "good.example", 443],
  ])("is refused for %s", async (_, host, port) => {
    const { exchange, events } = await openProxy({ allowlist: ["good.example", "good.example:22"] });
    expect(replies(await exchange(socksTo(host, port)))).toEqual([5, 0, 5, 2]);
    expect(events).toMatchObject([{ type: "denied", via: "socks" }]);
  });
});

describe("limits", () => {
  test("connections over the limit get a 503 that names the limit", async () => {
    const { client, exchange } = await openProxy({ connections: 1 });
    await once(client(), "connect");
    expect(await exchange("x")).toMatch(
      /^HTTP\/1\.1 503 codecell: 1 connections are open, all that net\.connections allows\r\n/,
    );
  });

  test("clients over the limit that do not read their refusal are disconnected", async () => {
    const { client } = await openProxy({ connections: 2 });
    await Promise.all([once(client(), "connect"), once(client(), "connect")]);
    // They keep their end open, so refused clients stay connected for a while.
    const hear = async (socket: Socket) => {
      let heard = "";
      socket.on("data", (bytes: Buffer) => {
        heard += bytes;
      });
      await Promise.race([once(socket, "end"), once(socket, "close")]);
      return heard;
    };
    const told = await Promise.all(Array.from({ length: 20 }, () => hear(client())));
    expect(told.filter((answer) => answer.startsWith("HTTP/1.1 503"))).toHaveLength(2);
    expect(told.filter((answer) => answer === "")).toHaveLength(18);
  });

  test("pipelined requests on one connection do not each get a connection to the server", async () => {
    const upstream = await sink();
    const { client, events } = await openProxy({ allowlist: [`good.example:${upstream.port}`], connections: 2 });
    const host = `good.example:${upstream.port}`;
    const socket = client();
    socket.write(`GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(20));
    await waitUntil(() => events.some((event) => event.type === "denied" && event.code === "limit"));
    await waitUntil(() => events.filter(({ type }) => type === "allowed").length === 4);
    socket.destroy();
    await waitUntil(() => events.filter(({ type }) => type === "closed").length === 4);
    expect(events.filter(({ type }) => type === "allowed")).toHaveLength(4);
  });

  test("requests over the rate get a 429, and are recorded once", async () => {
    const { exchange, events } = await openProxy({ requests: 1 });
    const head = "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n";
    for (let burst = 0; burst < 4; burst++) expect(await exchange(head)).toMatch(/^HTTP\/1\.1 403/);
    expect(await exchange(head)).toMatch(
      /^HTTP\/1\.1 429 codecell: more requests than net\.requests allows, 1 per second\r\n/,
    );
    expect(await exchange(head)).toMatch(/^HTTP\/1\.1 429/);
    expect(events.filter((event) => event.type === "denied" && event.code === "limit")).toHaveLength(1);
  });

  test("a flood of malformed requests does not keep other refusals from being recorded", () => {
    const events: EgressEvent[] = [];
    const proxy = new EgressProxy({
      rules: { enabled: true, allowlist: [], deny: [] },
      onEvent: (event) => events.push(event),
    });
    const target = { host: "evil.example", port: 443, via: "https" } as const;
    for (let count = 0; count < 1000; count++) proxy.refuse(target, malformed("nonsense"));
    proxy.refuse(target, deny("secret", "the secret TOKEN may not be sent to evil.example:443", "-"));
    expect(events.length).toBeLessThan(600);
    expect(events.at(-1)).toMatchObject({ type: "denied", code: "secret" });
  });

  test("request and response heads count towards the quotas", async () => {
    const { port } = await mirror();
    const { exchange, events } = await openProxy({ allowlist: [`good.example:${port}`] });
    const field = `X: ${"a".repeat(5000)}`;
    const host = `good.example:${port}`;
    await exchange(`GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n${field}\r\nConnection: close\r\n\r\n`);
    await waitUntil(() => events.some(({ type }) => type === "closed"));
    const closed = events.find((event) => event.type === "closed");
    const { sentBytes = 0, receivedBytes = 0 } = closed?.type === "closed" ? closed : {};
    expect(sentBytes).toBeGreaterThan(5000);
    expect(receivedBytes).toBeGreaterThan("GET good.example:65535/ ".length + 20);
  });

  test("lower limits apply at once: connections over them are closed, newest first", async () => {
    const upstream = await sink();
    const rules = { enabled: true, allowlist: [`good.example:${upstream.port}`], deny: [] };
    const { client, proxy, exchange, events } = await openProxy(rules);
    const connectHead = `CONNECT good.example:${upstream.port} HTTP/1.1\r\nHost: good.example\r\n\r\n`;
    const [first, second] = [client(), client()];
    for (const socket of [first, second]) {
      socket.write(connectHead);
      await once(socket, "data");
    }
    proxy.update({ ...rules, connections: 1 });
    await hungUp(second);
    const reason = "net.connections now allows at most 1";
    expect(events).toContainEqual(expect.objectContaining({ type: "denied", code: "limit", reason }));
    first.write("still here");
    await upstream.waitFor(10);
    proxy.update({ ...rules, sentBytes: 5 });
    await hungUp(first);
    proxy.update({ ...rules, requests: 1 });
    for (let burst = 0; burst < 4; burst++)
      await exchange("CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    expect(await exchange(connectHead)).toMatch(/^HTTP\/1\.1 429 codecell: more requests/);
  });

  test("a client that sends no request is disconnected", async () => {
    const { client } = await openProxy({}, { times: { headMs: 30 } });
    const socket = client();
    socket.write("GET http://");
    await hungUp(socket);
  });

  test("a request head without end is refused", async () => {
    const { exchange } = await openProxy({});
    const head = `GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\nX: ${"a".repeat(70_000)}\r\n\r\n`;
    expect(await exchange(head)).toMatch(/^HTTP\/1\.1 400/);
  });
});

/** Resolves when the proxy has ended its side or the connection is closed. */
async function hungUp(socket: Socket): Promise<void> {
  socket.resume();
  await Promise.race([once(socket, "end"), once(socket, "close")]);
}

async function waitUntil(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((turn) => setImmediate(turn));
}
