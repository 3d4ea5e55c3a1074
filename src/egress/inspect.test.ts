import { once } from "node:events";
import { createServer as createHttpServer, type IncomingHttpHeaders, type RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { connect, createServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { connect as connectTls, createSecureContext, createServer as createTlsServer, type TLSSocket } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LoopbackServers } from "../../test/support/loopback-servers.ts";
import type { NetSecret } from "../policy/network/net-secrets.ts";
import { fromProxy } from "./process/process-messages.ts";
import type { SessionKeys } from "./process/session-keys.ts";
import { EgressProxy } from "./proxy/proxy.ts";
import { type Resolve, withFixedAddresses } from "./proxy/resolver.ts";
import type { EgressRules } from "./rules/decide.ts";
import type { EgressEvent } from "./rules/events.ts";
import { makeSessionAuthority, ServerCertificates } from "./tls/session-authority.ts";

const dayMs = 86_400_000;
/** the authority of the test servers, and the authority of the session */
const world = makeSessionAuthority(["*"], dayMs);
const session = makeSessionAuthority(["good.example", "other.example"], dayMs);
const value = 'v4lue/of+the "secret" 0123456789';
const placeholder = "cc_secret_0123456789abcdef0123456789abcdef";

let loopback: LoopbackServers;
beforeEach(() => {
  loopback = new LoopbackServers();
});
afterEach(() => loopback[Symbol.asyncDispose]());

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** A TLS server that records requests and sends the given responses. */
async function origin(answerWith?: RequestListener, certified = "good.example", plain = false) {
  const seen: Seen[] = [];
  const listener: RequestListener = (request, answer) => {
    seen.push({ method: request.method, url: request.url, headers: request.headers });
    if (answerWith) return answerWith(request, answer);
    request.resume();
    request.on("end", () => answer.end(`${request.method} ${request.headers.host} ${request.url}`));
  };
  const certificates = new ServerCertificates(world);
  const tls = {
    SNICallback: (_: string, done: (error: null, context: ReturnType<typeof createSecureContext>) => void) =>
      done(null, certificates.for(certified)),
  };
  const port = await loopback.listen(plain ? createHttpServer(listener) : createHttpsServer(tls, listener));
  return { port, seen };
}

const trust = createSecureContext({ ca: world.certificate });
const fixed = { "good.example": "127.0.0.1", "other.example": "127.0.0.1" };

async function openProxy(
  rules: Partial<EgressRules>,
  keys: SessionKeys = { secrets: [], authority: session },
  resolve: Resolve = withFixedAddresses(fixed, async () => []),
  trusting = async () => trust,
) {
  const events: EgressEvent[] = [];
  const proxy = new EgressProxy({
    rules: { enabled: true, allowlist: [], deny: [], inspect: ["good.example", "other.example"], ...rules },
    ...{ keys, trust: trusting, onEvent: (event) => events.push(event) },
    resolve,
  });
  loopback.proxies.push(proxy);
  const proxyPort = await loopback.listen(createServer({ allowHalfOpen: true }, (socket) => proxy.accept(socket)));
  const client = (): Socket => {
    const socket = connect({ port: proxyPort, host: "127.0.0.1", allowHalfOpen: true });
    socket.on("error", () => {});
    loopback.sockets.push(socket);
    return socket;
  };
  /** The client's side of a tunnel, after CONNECT and the TLS handshake; rejects if the handshake fails. */
  const secure = async (
    port: number,
    options: { host?: string; servername?: string; ca?: string; alpn?: string[] } = {},
  ) => {
    const { host = "good.example", servername = host, ca = session.certificate, alpn } = options;
    const socket = client();
    socket.write(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`);
    const [first] = (await once(socket, "data")) as [Buffer];
    if (!first.toString().startsWith("HTTP/1.1 200")) throw new Error(first.toString());
    const secured = connectTls({ socket, servername, ca, ...(alpn ? { ALPNProtocols: alpn } : {}) });
    loopback.sockets = [...loopback.sockets.filter((one) => one !== socket), secured]; // Node 20 crashes when both are destroyed at once
    await once(secured, "secureConnect");
    return secured;
  };
  /** Sends bytes through an inspected tunnel and reads until it ends. */
  const ask = async (port: number, bytes: string, options?: Parameters<typeof secure>[1]): Promise<string> => {
    const secured = await secure(port, options);
    secured.write(bytes);
    return text(secured);
  };
  return { proxy, events, client, secure, ask };
}

const get = (port: number, path = "/", fields = "", host = "good.example") =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}:${port}\r\nConnection: close\r\n${fields}\r\n`;
const denials = (events: readonly EgressEvent[]) => events.filter((event) => event.type === "denied");
const token = (port: number, more: Partial<NetSecret> = {}): NetSecret => ({
  ...{ from: "env:TOKEN", hosts: [`good.example:${port}`], headers: ["authorization"], query: false, plaintext: false },
  ...more,
});
const held: SessionKeys = {
  authority: session,
  secrets: [{ name: "TOKEN", placeholder, value, hosts: ["good.example"] }],
};

describe("a tunnel to an inspected host", () => {
  test("gets a 502 when the host's certificate authorities cannot be read, leaves nothing open, and works once they can", async () => {
    const { port } = await origin();
    let isBroken = true;
    const { ask, events } = await openProxy({ allowlist: [`good.example:${port}`] }, undefined, undefined, async () => {
      if (isBroken) throw new Error("EACCES");
      return trust;
    });
    expect(await ask(port, get(port))).toMatch(/^HTTP\/1\.1 502 .*authorities of the host cannot be read/);
    expect(events.at(-1)).toMatchObject({ type: "closed", failure: expect.stringContaining("cannot be read") });
    isBroken = false;
    expect(await ask(port, get(port))).toMatch(/^HTTP\/1\.1 200/);
  });

  test("gets a certificate of the session's authority, and its requests reach the real host", async () => {
    const { port, seen } = await origin();
    const { ask, events } = await openProxy({ allowlist: [`good.example:${port}`] });
    const answer = await ask(port, get(port, "/a?b", "X-Own: 1\r\n"));
    expect(answer).toContain(`GET good.example:${port} /a?b`);
    expect(seen[0]?.headers["x-own"]).toBe("1");
    expect(events[0]).toMatchObject({ type: "allowed", via: "https", host: "good.example", port });
  });

  test("reuses its connection to the server for the next request, and shares it with no other tunnel", async () => {
    const ports = new Set<number | undefined>();
    const { port } = await origin((request, answer) => {
      ports.add(request.socket.remotePort);
      answer.end("here");
    });
    const { secure, events } = await openProxy({ allowlist: [`good.example:${port}`] });
    const one = async (secured: Socket) => {
      secured.write(`GET / HTTP/1.1\r\nHost: good.example:${port}\r\n\r\n`);
      let received = "";
      while (!received.includes("here")) received += (await once(secured, "data"))[0];
    };
    const [first, second] = [await secure(port), await secure(port)];
    for (let count = 0; count < 15; count++) await one(first);
    expect(ports.size).toBe(1);
    await one(second);
    expect(ports.size).toBe(2);
    expect(events.filter(({ type }) => type === "allowed")).toHaveLength(16);
  });

  test("continues when the rules change and still allow it, also on a reused connection", async () => {
    let finish = () => {};
    const { port } = await origin((request, answer) => {
      if (request.url === "/short") return void answer.end("here");
      answer.write("begun");
      finish = () => answer.end("finished");
    });
    const rules = { enabled: true, allowlist: [`good.example:${port}`], deny: [], inspect: ["good.example"] };
    const { secure, proxy } = await openProxy(rules);
    const secured = await secure(port);
    for (const [path, awaited] of [
      ["/short", "here"],
      ["/long", "begun"],
    ] as const) {
      secured.write(`GET ${path} HTTP/1.1\r\nHost: good.example:${port}\r\n\r\n`);
      let received = "";
      while (!received.includes(awaited)) received += (await once(secured, "data"))[0];
    }
    proxy.update(rules);
    finish();
    let rest = "";
    while (!rest.includes("finished")) rest += (await once(secured, "data"))[0];
  });

  test("retries a GET, but not a POST, over a new connection when the server has closed the kept one", async () => {
    let answered = 0;
    const { port, seen } = await origin((request, answer) => {
      if (++answered % 2 === 1) return void answer.end("here");
      request.socket.destroy(); // as a server closes an idle connection
    });
    const { secure } = await openProxy({ allowlist: [`good.example:${port}`] });
    const ask = async (secured: Socket, method: string, fields = "") => {
      secured.write(`${method} / HTTP/1.1\r\nHost: good.example:${port}\r\n${fields}\r\n`);
      const [bytes] = (await once(secured, "data")) as [Buffer];
      return bytes.toString().split(" ")[1];
    };
    const secured = await secure(port);
    expect([await ask(secured, "GET"), await ask(secured, "GET")]).toEqual(["200", "200"]);
    expect(seen).toHaveLength(3);
    expect(await ask(secured, "POST", "Content-Length: 0\r\n")).toBe("502");
    expect(seen).toHaveLength(4);
  });

  test("sends a POST over a new connection when the server has already closed the kept one", async () => {
    const { port } = await origin((request, answer) => {
      answer.end("here", () => request.socket.end());
    });
    const { secure, ask } = await openProxy({ allowlist: [`good.example:${port}`] });
    const secured = await secure(port);
    for (const head of ["GET / HTTP/1.1", "POST / HTTP/1.1\r\nContent-Length: 0"]) {
      secured.write(`${head}\r\nHost: good.example:${port}\r\n\r\n`);
      const [bytes] = (await once(secured, "data")) as [Buffer];
      expect(bytes.toString()).toMatch(/^HTTP\/1\.1 200/);
      await ask(port, get(port)); // by now the proxy has seen that the first connection ended
    }
  });

  test("leaves no connection to the server open when two requests come at once", async () => {
    const certificates = new ServerCertificates(world);
    const connections: Socket[] = [];
    let finishFirst = () => {};
    let secureSecond = () => {};
    const server = createHttpsServer(
      {
        SNICallback: (_, done) => {
          const go = () => done(null, certificates.for("good.example"));
          if (connections.length === 1) return go();
          secureSecond = go;
          server.emit("dialled");
        },
      },
      (request, answer) => {
        if (request.url === "/second") return void answer.end("second");
        finishFirst = () => answer.end("first");
        server.emit("asked");
      },
    );
    server.on("connection", (socket: Socket) => connections.push(socket));
    const [port, asked, dialled] = [await loopback.listen(server), once(server, "asked"), once(server, "dialled")];
    const { secure } = await openProxy({ allowlist: [`good.example:${port}`] });
    const secured = await secure(port);
    const until = async (awaited: string) => {
      let received = "";
      while (!received.includes(awaited)) received += (await once(secured, "data"))[0];
    };
    secured.write(`GET /first HTTP/1.1\r\nHost: good.example:${port}\r\n\r\n`);
    await asked;
    secured.write(`GET /second HTTP/1.1\r\nHost: good.example:${port}\r\n\r\n`);
    await dialled;
    finishFirst();
    await until("first");
    secureSecond();
    await until("second");
    const ended = connections.map((socket) => socket.destroyed || once(socket, "close"));
    secured.destroy();
    await Promise.all(ended);
    expect(ended).toHaveLength(2);
  });

  test("a denied host is not dialled again for a request that was closed", async () => {
    let looked = 0;
    let waiting = () => {};
    const { port } = await origin((request, answer) => {
      if (request.url === "/short") return void answer.end("here");
      waiting();
    });
    const rules = { enabled: true, allowlist: [`good.example:${port}`], deny: [], inspect: ["good.example"] };
    const { secure, proxy } = await openProxy(rules, undefined, async () => {
      looked++;
      return [{ address: "127.0.0.1", isFixed: true }];
    });
    const secured = await secure(port);
    secured.write(`GET /short HTTP/1.1\r\nHost: good.example:${port}\r\n\r\n`);
    await once(secured, "data");
    const isWaiting = new Promise<void>((settle) => {
      waiting = settle;
    });
    secured.write(`GET /long HTTP/1.1\r\nHost: good.example:${port}\r\n\r\n`);
    await isWaiting;
    proxy.update({ ...rules, deny: ["good.example"] });
    const ended = Promise.race([once(secured, "end"), once(secured, "close")]);
    secured.on("error", () => {}).resume();
    await ended;
    expect(looked).toBe(1);
  });

  test("a server that answers in another protocol gives a 502 at once", async () => {
    const { port } = await origin((request) => {
      request.socket.end("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: own\r\n\r\n");
    });
    const { ask } = await openProxy({ allowlist: [`good.example:${port}`] });
    expect(await ask(port, get(port))).toMatch(
      /^HTTP\/1\.1 502 codecell: good\.example answered with another protocol/,
    );
  });

  test("a client that does not know the session's authority does not trust the proxy", async () => {
    const { port } = await origin();
    const { secure } = await openProxy({ allowlist: [`good.example:${port}`] });
    await expect(secure(port, { ca: world.certificate })).rejects.toThrow();
  });

  test("negotiates HTTP/1.1 with a client that offers HTTP/2", async () => {
    const { port } = await origin();
    const { secure } = await openProxy({ allowlist: [`good.example:${port}`] });
    const secured = await secure(port, { alpn: ["h2", "http/1.1"] });
    expect((secured as TLSSocket).alpnProtocol).toBe("http/1.1");
  });

  test("carries many requests, and each is checked separately", async () => {
    const { port, seen } = await origin();
    const { secure, proxy } = await openProxy({ allowlist: [`good.example:${port}`] });
    const secured = await secure(port);
    secured.write(`GET /1 HTTP/1.1\r\nHost: good.example:${port}\r\n\r\n`);
    await once(secured, "data");
    proxy.update({ enabled: true, allowlist: [], deny: [], inspect: ["good.example"] });
    secured.write(`GET /2 HTTP/1.1\r\nHost: good.example:${port}\r\n\r\n`);
    expect(await text(secured)).toContain("403 codecell: good.example is not in net.allowlist");
    expect(seen.map(({ url }) => url)).toEqual(["/1"]);
  });

  test("a tunnel that was not inspected is closed when its host must be inspected from now on", async () => {
    const { port } = await origin();
    const { client, proxy, events } = await openProxy({ allowlist: [`good.example:${port}`], inspect: [] });
    const socket = client();
    socket.write(`CONNECT good.example:${port} HTTP/1.1\r\nHost: good.example:${port}\r\n\r\n`);
    await once(socket, "data");
    proxy.update({ enabled: true, allowlist: [`good.example:${port}`], deny: [], inspect: ["good.example"] });
    socket.resume();
    await Promise.race([once(socket, "end"), once(socket, "close")]);
    expect(denials(events)).toMatchObject([
      { code: "not_inspected", reason: expect.stringContaining("must be decrypted from now on") },
    ]);
  });

  test("a TLS hello with the name of another host ends in an alert", async () => {
    const { port, seen } = await origin();
    const { secure, events } = await openProxy({ allowlist: [`good.example:${port}`, `other.example:${port}`] });
    await expect(secure(port, { servername: "other.example" })).rejects.toThrow();
    expect(denials(events)).toMatchObject([{ code: "server_name", host: "good.example" }]);
    expect(seen).toEqual([]);
  });

  test("cannot be used for domain fronting: the Host header must name the tunnel's host", async () => {
    const { port, seen } = await origin();
    const { ask, events } = await openProxy({ allowlist: [`good.example:${port}`, `other.example:${port}`] });
    expect(await ask(port, get(port, "/", "", "other.example"))).toMatch(
      /^HTTP\/1\.1 403 codecell: the Host header does not name good\.example/,
    );
    expect(denials(events)).toMatchObject([{ code: "server_name" }]);
    expect(seen).toEqual([]);
  });

  test.each([
    ["the absolute form", "GET https://other.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n"],
    ["the absolute form of itself", "GET https://good.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n"],
    ["a fragment", "GET /#x HTTP/1.1\r\nHost: good.example\r\n\r\n"],
    ["an asterisk", "OPTIONS * HTTP/1.1\r\nHost: good.example\r\n\r\n"],
    ["no host", "GET / HTTP/1.1\r\n\r\n"],
    ["two hosts", "GET / HTTP/1.1\r\nHost: good.example\r\nHost: other.example\r\n\r\n"],
    [
      "both a length and chunks",
      "POST / HTTP/1.1\r\nHost: good.example\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["a folded field", "GET / HTTP/1.1\r\nHost: good.example\r\nX: a\r\n b\r\n\r\n"],
    ["a bare line feed in a field", "GET / HTTP/1.1\r\nHost: good.example\r\nX: a\nY: b\r\n\r\n"],
    ["bytes that are not HTTP", "SSH-2.0-client\r\n\r\n"],
  ])("a request with %s never reaches the server", async (_, bytes) => {
    const { port, seen } = await origin();
    const { ask } = await openProxy({ allowlist: [`good.example:${port}`] });
    expect(await ask(port, bytes.replaceAll("good.example", `good.example:${port}`))).toMatch(/^HTTP\/1\.1 400 /);
    expect(seen).toEqual([]);
  });

  test("refuses a CONNECT and a WebSocket inside it", async () => {
    const { port, seen } = await origin();
    const { ask } = await openProxy({ allowlist: [`good.example:${port}`] });
    expect(await ask(port, "CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n")).toBe("");
    const upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\n";
    expect(await ask(port, `GET / HTTP/1.1\r\nHost: good.example:${port}\r\n${upgrade}\r\n`)).toMatch(
      /^HTTP\/1\.1 501/,
    );
    expect(seen).toEqual([]);
  });

  test("refuses traffic that is not TLS", async () => {
    const { port, seen } = await origin();
    const { client, events } = await openProxy({ allowlist: [`good.example:${port}`] });
    const socket = client();
    socket.write(`CONNECT good.example:${port} HTTP/1.1\r\nHost: good.example:${port}\r\n\r\nGET / HTTP/1.1\r\n\r\n`);
    await text(socket);
    expect(denials(events)).toMatchObject([{ code: "server_name", reason: "the traffic to good.example is not TLS" }]);
    expect(seen).toEqual([]);
  });

  test.each([
    [
      "is for another name",
      "other.example",
      world.certificate,
      /502 codecell: no TLS with good\.example: ERR_TLS_CERT_ALTNAME_INVALID/,
    ],
  ])("a server whose certificate %s gives a 502, and nothing is sent", async (_, certified, __, expected) => {
    const { port, seen } = await origin(undefined, certified);
    const { ask } = await openProxy({ allowlist: [`good.example:${port}`], secrets: { TOKEN: token(port) } }, held);
    expect(await ask(port, get(port, "/", `Authorization: Bearer ${placeholder}\r\n`))).toMatch(expected);
    expect(seen).toEqual([]);
  });

  test("a server without a trusted certificate gives a 502, and nothing is sent", async () => {
    const { port, seen } = await origin();
    const stranger = createSecureContext({ ca: session.certificate });
    const proxy = new EgressProxy({
      rules: { enabled: true, allowlist: [`good.example:${port}`], deny: [], inspect: ["*"] },
      ...{ keys: held, trust: async () => stranger, onEvent: () => {} },
      resolve: withFixedAddresses(fixed, async () => []),
    });
    loopback.proxies.push(proxy);
    const proxyPort = await loopback.listen(createServer({ allowHalfOpen: true }, (socket) => proxy.accept(socket)));
    const socket = connect({ port: proxyPort, host: "127.0.0.1" });
    socket.write(`CONNECT good.example:${port} HTTP/1.1\r\nHost: good.example:${port}\r\n\r\n`);
    await once(socket, "data");
    const secured = connectTls({ socket, servername: "good.example", ca: session.certificate });
    await once(secured, "secureConnect");
    secured.write(get(port));
    expect(await text(secured)).toMatch(/^HTTP\/1\.1 502 codecell: no TLS with good\.example/);
    expect(seen).toEqual([]);
  });

  test("a tunnel that is in use when its session is closed does not crash the proxy", async () => {
    const { port } = await origin((_, answer) => answer.write("the beginning"));
    const { secure, proxy } = await openProxy({ allowlist: [`good.example:${port}`] });
    const [busy, idle] = await Promise.all([secure(port), secure(port)]);
    for (const one of [busy, idle]) one.on("error", () => {});
    busy.write(get(port));
    await once(busy, "data");
    const closed = [busy, idle].map((one) => Promise.race([once(one, "end"), once(one, "close")]));
    for (const one of [busy, idle]) one.resume();
    proxy.close();
    await Promise.all(closed);
  });

  test("an inspected tunnel of a session without an authority is refused, not passed on uninspected", async () => {
    const { port } = await origin();
    const { secure, events } = await openProxy({ allowlist: [`good.example:${port}`] }, { secrets: [] });
    await expect(secure(port)).rejects.toThrow(/^HTTP\/1\.1 403 codecell: TLS to good\.example must be decrypted/);
    expect(denials(events)).toMatchObject([{ code: "not_inspected" }]);
  });

  test("a tunnel through SOCKS to an inspected host is refused, because it cannot be inspected", async () => {
    const { port } = await origin();
    const { client, events } = await openProxy({ allowlist: [`good.example:${port}`] });
    const socket = client();
    const name = Buffer.from("good.example");
    socket.write(Buffer.from([5, 1, 0, 5, 1, 0, 3, name.length, ...name, port >> 8, port & 255]));
    expect([...Buffer.from(await text(socket), "latin1")].slice(0, 4)).toEqual([5, 0, 5, 2]);
    expect(denials(events)).toMatchObject([{ code: "not_inspected", via: "socks" }]);
  });
});

describe("request rules", () => {
  const ruled = (port: number) => ({
    allowlist: [`good.example:${port}`],
    rules: [{ host: "good.example", methods: ["GET", "HEAD"], paths: ["/v1/**"] }],
  });

  test("apply to every request of a tunnel, also to a pipelined one", async () => {
    const { port, seen } = await origin();
    const { secure } = await openProxy(ruled(port));
    const secured = await secure(port);
    const one = (method: string, path: string) => `${method} ${path} HTTP/1.1\r\nHost: good.example:${port}\r\n\r\n`;
    secured.write(one("GET", "/v1/a") + one("GET", "/admin") + one("GET", "/v1/b"));
    expect((await text(secured)).match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 403"]);
    expect(seen.map(({ url }) => url)).not.toContain("/admin");
  });

  test("refuse another method with a reason, and a header that overrides the method", async () => {
    const { port, seen } = await origin();
    const { ask, events } = await openProxy(ruled(port));
    expect(await ask(port, `DELETE /v1/a HTTP/1.1\r\nHost: good.example:${port}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 403 codecell: net\.rules does not allow DELETE to good\.example/,
    );
    expect(await ask(port, get(port, "/v1/a", "X-HTTP-Method-Override: DELETE\r\n"))).toMatch(
      /^HTTP\/1\.1 403 codecell: a request to good\.example overrides its method in a header/,
    );
    expect(denials(events).map((event) => event.type === "denied" && event.code)).toEqual(["request", "request"]);
    expect(seen).toEqual([]);
  });

  test("cannot be bypassed by a request that is smuggled in the body of another", async () => {
    const seen: string[] = [];
    const server = createTlsServer({ SNICallback: (_, done) => done(null, certificates.for("good.example")) });
    const certificates = new ServerCertificates(world);
    server.on("secureConnection", (socket) => {
      let held = "";
      socket.on("error", () => {});
      socket.on("data", (bytes) => {
        held += bytes;
        for (let end = held.indexOf("\r\n\r\n"); end >= 0 && socket.writable; end = held.indexOf("\r\n\r\n")) {
          const head = held.slice(0, end);
          held = held.slice(end + 4);
          seen.push(head.split("\r\n")[0] ?? "");
          socket.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhere");
          if (/^connection: close$/im.test(head)) socket.end();
        }
      });
    });
    const port = await loopback.listen(server);
    const { secure } = await openProxy(ruled(port));
    const secured = await secure(port);
    const hidden = `GET /admin HTTP/1.1\r\nHost: good.example:${port}\r\n\r\n`;
    const field = `Host: good.example:${port}\r\n`;
    secured.write(`GET /v1/a HTTP/1.1\r\n${field}Content-Length: ${hidden.length}\r\n\r\n${hidden}`);
    let received = "";
    secured.on("data", (bytes) => {
      received += bytes;
    });
    await expect.poll(() => received).toContain("here");
    secured.write(`GET /v1/b HTTP/1.1\r\n${field}Connection: close\r\n\r\n`);
    await expect.poll(() => received.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
    expect(seen).toEqual(["GET /v1/a HTTP/1.1", "GET /v1/b HTTP/1.1"]);
  });

  test("apply to plain HTTP too", async () => {
    const { port, seen } = await origin(undefined, "good.example", true);
    const { client } = await openProxy({ ...ruled(port), inspect: [] });
    const socket = client();
    socket.write(`GET http://good.example:${port}/admin HTTP/1.1\r\nHost: good.example:${port}\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 403 codecell: net\.rules does not allow GET of this path/);
    expect(seen).toEqual([]);
  });

  test("refuse tunnels to their host that are not inspected", async () => {
    const { port } = await origin();
    const { secure, events } = await openProxy({ ...ruled(port), inspect: [] });
    await expect(secure(port)).rejects.toThrow(/^HTTP\/1\.1 403 codecell: net\.rules limits requests to good\.example/);
    expect(denials(events)).toMatchObject([{ code: "not_inspected", remedy: "add good.example to net.inspect" }]);
  });
});

describe("a secret", () => {
  const withSecret = (port: number, more: Partial<NetSecret> = {}): Partial<EgressRules> => ({
    allowlist: [`good.example:${port}`, `other.example:${port}`],
    secrets: { TOKEN: token(port, more) },
  });

  test("replaces its placeholder in requests to its host", async () => {
    const { port, seen } = await origin();
    const { ask, events } = await openProxy(withSecret(port), held);
    expect(await ask(port, get(port, "/", `Authorization: Bearer ${placeholder}\r\n`))).toMatch(/^HTTP\/1\.1 200/);
    expect(seen[0]?.headers.authorization).toBe(`Bearer ${value}`);
    expect(JSON.stringify(events)).not.toContain(value.slice(0, 8));
  });

  test("replaces its placeholder in base64 basic auth, as git sends it", async () => {
    const { port, seen } = await origin();
    const { ask } = await openProxy(withSecret(port), held);
    const basic = Buffer.from(`git:${placeholder}`).toString("base64");
    await ask(port, get(port, "/", `Authorization: Basic ${basic}\r\n`));
    const [, sent = ""] = (seen[0]?.headers.authorization ?? "").split(" ");
    expect(Buffer.from(sent, "base64").toString()).toBe(`git:${value}`);
  });

  test("replaces its placeholder in a query only if the policy allows it", async () => {
    const { port, seen } = await origin();
    const { ask } = await openProxy(withSecret(port, { query: true }), held);
    expect(await ask(port, get(port, `/?key=${placeholder}`))).toMatch(/^HTTP\/1\.1 200/);
    expect(new URL(`http://x${seen[0]?.url}`).searchParams.get("key")).toBe(value);
    expect(await ask(port, get(port, `/${placeholder}`))).toMatch(
      /^HTTP\/1\.1 403 codecell: the secret TOKEN may not be put into the path/,
    );
    expect(seen).toHaveLength(1);
  });

  test.each([
    ["another header", "/", `X-Debug: ${placeholder}\r\n`, "may not be put into the field x-debug"],
    ["a query", `/?key=${placeholder}`, "", "may not be put into the query"],
    ["a cookie", "/", `Cookie: a=${placeholder}\r\n`, "may not be put into the field cookie"],
  ])("is not inserted into %s", async (_, path, fields, reason) => {
    const { port, seen } = await origin();
    const { ask, events } = await openProxy(withSecret(port), held);
    expect(await ask(port, get(port, path, fields))).toContain(reason);
    expect(denials(events)).toMatchObject([{ code: "secret" }]);
    expect(seen).toEqual([]);
  });

  test.each([
    ["in its header", `Authorization: Bearer ${placeholder}\r\n`],
    ["in base64", `Authorization: Basic ${Buffer.from(`a:${placeholder}`).toString("base64")}\r\n`],
  ])("is not sent to another host, and the attempt is refused: %s", async (_, fields) => {
    const { port, seen } = await origin(undefined, "other.example");
    const { ask, events } = await openProxy(withSecret(port), held);
    const answer = await ask(port, get(port, "/", fields, "other.example"), { host: "other.example" });
    expect(answer).toMatch(/^HTTP\/1\.1 403 codecell: the secret TOKEN may not be sent to other\.example/);
    expect(denials(events)).toMatchObject([{ code: "secret", host: "other.example" }]);
    expect(seen).toEqual([]);
  });

  test("is not sent over plain HTTP unless the policy allows it", async () => {
    const { port, seen } = await origin(undefined, "good.example", true);
    const plainly = `GET http://good.example:${port}/ HTTP/1.1\r\nHost: good.example:${port}\r\nConnection: close\r\nAuthorization: ${placeholder}\r\n\r\n`;
    const strict = await openProxy(withSecret(port), held);
    const refused = strict.client();
    refused.write(plainly);
    expect(await text(refused)).toMatch(/^HTTP\/1\.1 403 codecell: the secret TOKEN may not be sent over plain HTTP/);
    const lax = await openProxy(withSecret(port, { plaintext: true }), held);
    const sent = lax.client();
    sent.write(plainly);
    expect(await text(sent)).toMatch(/^HTTP\/1\.1 200/);
    expect(seen.map(({ headers }) => headers.authorization)).toEqual([value]);
  });

  test("a secret that the rules no longer name is not sent", async () => {
    const { port, seen } = await origin();
    const { ask, proxy } = await openProxy(withSecret(port), held);
    proxy.update({
      enabled: true,
      deny: [],
      inspect: ["*"],
      ...withSecret(port),
      allowlist: [`good.example:${port}`],
      secrets: {},
    });
    expect(await ask(port, get(port, "/", `Authorization: ${placeholder}\r\n`))).toMatch(
      /^HTTP\/1\.1 403 codecell: the secret TOKEN may not be sent to/,
    );
    expect(seen).toEqual([]);
  });

  test("a secret that is removed while the server is dialled is not sent", async () => {
    const { port, seen } = await origin();
    const rules = { enabled: true, deny: [], inspect: ["*"], ...withSecret(port), allowlist: [`good.example:${port}`] };
    const { ask, proxy } = await openProxy(rules, held, async () => {
      proxy.update({ ...rules, secrets: {} });
      return [{ address: "127.0.0.1", isFixed: true }];
    });
    expect(await ask(port, get(port, "/", `Authorization: ${placeholder}\r\n`))).toMatch(
      /^HTTP\/1\.1 403 codecell: the secret TOKEN may not be sent to/,
    );
    expect(seen).toEqual([]);
  });

  test("is recorded as denied when a cell tries to send it elsewhere, however long the header's name is", async () => {
    const { port } = await origin();
    const { ask, events } = await openProxy(withSecret(port), held);
    await ask(port, get(port, "/", `${placeholder}${"a".repeat(4000)}: x\r\n`));
    const [event] = denials(events);
    expect(fromProxy.safeParse({ t: "event", session: 1, event }).success).toBe(true);
    expect(event).toMatchObject({ code: "secret" });
  });

  test("a placeholder of another session is not replaced by a secret", async () => {
    const { port, seen } = await origin();
    const { ask } = await openProxy(withSecret(port), held);
    const guessed = placeholder.replace("0123", "3210");
    await ask(port, get(port, "/", `Authorization: Bearer ${guessed}\r\n`));
    expect(seen[0]?.headers.authorization).toBe(`Bearer ${guessed}`);
  });
});

describe("a response of a host that gets a secret", () => {
  /** Echoes what it was sent in several encodings, in chunks that split the value. */
  const echo: RequestListener = (request, answer) => {
    const sent = request.headers.authorization ?? "";
    const bytes = Buffer.from(
      [sent, JSON.stringify({ sent }), encodeURIComponent(sent), Buffer.from(`x${sent}`).toString("base64")].join("\n"),
    );
    answer.writeHead(200, "OK", {
      "x-echo": sent,
      location: `/?t=${encodeURIComponent(sent)}`,
      "content-length": bytes.length,
    });
    for (let at = 0; at < bytes.length; at += 7) answer.write(bytes.subarray(at, at + 7));
    answer.end();
  };

  test("has the value replaced by asterisks in its head and body, with its length unchanged", async () => {
    const { port, seen } = await origin(echo);
    const { ask } = await openProxy({ allowlist: [`good.example:${port}`], secrets: { TOKEN: token(port) } }, held);
    const answer = await ask(
      port,
      get(port, "/", `Authorization: Bearer ${placeholder}\r\nAccept-Encoding: gzip\r\nRange: bytes=0-3\r\n`),
    );
    expect(seen[0]?.headers).toMatchObject({ authorization: `Bearer ${value}`, "accept-encoding": "identity" });
    expect(seen[0]?.headers).not.toHaveProperty("range");
    expect(answer).toContain(`x-echo: Bearer ${"*".repeat(value.length)}\r\n`);
    const [head = "", body = ""] = answer.split("\r\n\r\n");
    expect(body).toContain(`Bearer ${"*".repeat(value.length)}\n`);
    expect(Number(/content-length: (\d+)/.exec(head)?.[1])).toBe(body.length);
    for (const form of [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value), value.slice(0, 12)])
      expect(answer).not.toContain(form);
    const encoded = body.split("\n").at(-1) ?? "";
    expect(Buffer.from(encoded.replaceAll("*", "A"), "base64").toString("latin1")).not.toContain(value.slice(2, 8));
  });

  test("is searched for the value even if the request carried no secret", async () => {
    const { port } = await origin((_, answer) => answer.end(`kept: ${value}`));
    const { ask } = await openProxy({ allowlist: [`good.example:${port}`], secrets: { TOKEN: token(port) } }, held);
    expect(await ask(port, get(port))).toMatch(/kept: \*+$/);
  });

  test("a response in an encoding that cannot be searched for secrets is not passed on", async () => {
    const { port } = await origin((_, answer) => answer.writeHead(200, { "content-encoding": "gzip" }).end("x"));
    const { ask } = await openProxy({ allowlist: [`good.example:${port}`], secrets: { TOKEN: token(port) } }, held);
    expect(await ask(port, get(port))).toMatch(/^HTTP\/1\.1 502 codecell: good\.example answered in an encoding/);
  });

  test("a response with a compressed transfer encoding is not passed on", async () => {
    const { port } = await origin((request) => {
      request.socket.end("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n");
    });
    const { ask } = await openProxy({ allowlist: [`good.example:${port}`], secrets: { TOKEN: token(port) } }, held);
    expect(await ask(port, get(port))).toMatch(/^HTTP\/1\.1 502 codecell: good\.example answered in an encoding/);
  });

  test("has no value in a header's name, and cannot be requested in ranges under another header name", async () => {
    const plain = "Tok3n-In-A-Name";
    const { port, seen } = await origin((_, answer) => answer.writeHead(200, { [`X-${plain}`]: "1" }).end());
    const [secret] = held.secrets;
    const keys = { ...held, secrets: secret ? [{ ...secret, value: plain }] : [] };
    const { ask } = await openProxy({ allowlist: [`good.example:${port}`], secrets: { TOKEN: token(port) } }, keys);
    const answer = await ask(port, get(port, "/", "Request-Range: bytes=0-3\r\n"));
    expect(answer.toLowerCase()).not.toContain(plain.toLowerCase());
    expect(seen[0]?.headers).not.toHaveProperty("request-range");
  });

  test("is streamed without waiting for its end", async () => {
    let finish = () => {};
    const { port } = await origin((_, answer) => {
      answer.write("event: one\n\n");
      finish = () => answer.end();
    });
    const { secure } = await openProxy({ allowlist: [`good.example:${port}`], secrets: { TOKEN: token(port) } }, held);
    const secured = await secure(port);
    secured.write(get(port));
    let received = "";
    for await (const bytes of secured) {
      received += bytes;
      if (received.includes("event: one\n\n")) finish();
    }
    expect(received).toContain("event: one\n\n");
  });
});
