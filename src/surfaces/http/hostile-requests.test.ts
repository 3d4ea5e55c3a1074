import { once } from "node:events";
import { chmod } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { type FakeRun, FakeRunner } from "../../../test/fakes/fake-runner.ts";
import { eventsOf, type ServiceSetup, TestService } from "../../../test/support/http-service.ts";

const chunk = "x".repeat(256 * 1024);

/** `flood`: prints 64 MiB. `wait`: until it is interrupted. */
async function program(run: FakeRun) {
  if (run.code === "flood") for (let at = 0; at < 256; at++) run.print("stdout", chunk);
  if (run.code === "wait") {
    run.print("stdout", "started\n");
    await run.interrupted;
    return { status: "cancelled" as const };
  }
  return {};
}

let here: TestService | undefined;
async function open(setup: Omit<ServiceSetup, "runners"> = {}): Promise<TestService> {
  here = await TestService.open({ ...setup, runners: [new FakeRunner({ program })] });
  return here;
}
afterEach(async () => {
  await here?.[Symbol.asyncDispose]();
  here = undefined;
});

/** Everything that the service sends until it closes the connection. */
async function answerTo(service: TestService, text: string): Promise<string> {
  const socket = await service.socket();
  let answer = "";
  socket.on("data", (bytes) => {
    answer += bytes;
  });
  socket.on("error", () => {});
  const closed = once(socket, "close");
  socket.write(text);
  await closed;
  return answer;
}

async function connected(service: TestService): Promise<Socket> {
  const socket = await service.socket();
  socket.on("error", () => {});
  onTestFinished(() => {
    socket.destroy();
  });
  return socket;
}

const last = "Connection: close\r\n\r\n";
const local = "Host: localhost\r\n";

describe("a smuggled request", () => {
  const smuggled = "GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  test.each([
    [
      "a Content-Length and chunks",
      `${local}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    ],
    [
      "two Content-Length headers",
      `${local}Content-Length: 0\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
    ],
    ["a Content-Length with a list", `${local}Content-Length: 0, ${smuggled.length}\r\n\r\n${smuggled}`],
    ["a transfer coding that is almost chunked", `${local}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`],
    ["chunked before another coding", `${local}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${smuggled}`],
    ["a space before the colon", `${local}Content-Length : ${smuggled.length}\r\n\r\n${smuggled}`],
    ["a bare line feed", `${local}X: a\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`],
    ["a folded header line", `${local}X: a\r\n Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`],
    ["a chunk with an invalid size", `${local}Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n${smuggled}`],
    ["two Host headers", `${local}Host: evil.example\r\n${last}`],
  ])("is not answered: %s", async (_what, rest) => {
    const service = await open({ limits: { headersMs: 200, requestMs: 200 } });
    const answer = await answerTo(service, `POST /v1/sessions HTTP/1.1\r\n${rest}`);
    expect(answer).not.toMatch(/^HTTP\/1\.1 2/m);
    expect(answer.match(/^HTTP\/1\.1 \d+/gm)?.length ?? 0).toBeLessThanOrEqual(2);
    expect(answer).not.toContain('"status":"ok"');
  });

  test("with two Authorization headers is refused", async () => {
    const service = await open();
    const { token } = await service.client("a");
    const twice = `Authorization: Bearer ${token}\r\nAuthorization: Bearer other\r\n`;
    expect(await answerTo(service, `GET /v1/sessions HTTP/1.1\r\n${local}${twice}${last}`)).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe("a web page of another site", () => {
  test("gets 403 and no CORS header", async () => {
    const service = await open();
    const client = await service.client("a");
    for (const method of ["OPTIONS", "GET", "POST"]) {
      const answer = await client.call(method, "/v1/sessions", undefined, {
        ...{ origin: "http://evil.example", "access-control-request-method": "POST" },
      });
      expect([method, answer.status]).toEqual([method, 403]);
      expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
    }
  });

  test.each([
    "evil.example",
    "localhost.evil.example",
    "localhost:80@evil.example",
    "127.0.0.1.evil.example",
    "localhost.",
    "",
  ])("cannot reach the service by the host name %j", async (host) => {
    const service = await open();
    const answer = await answerTo(service, `GET /v1/health HTTP/1.1\r\nHost: ${host}\r\n${last}`);
    expect(answer).toMatch(/^HTTP\/1\.1 4/);
    expect(answer).not.toContain('"status":"ok"');
  });
});

describe("an HTTP token", () => {
  test("is accepted only in the Authorization header, because URLs are logged", async () => {
    const service = await open();
    const { token } = await service.client("a");
    const anonymous = service.anonymous();
    for (const query of [`?token=${token}`, `?access_token=${token}`, `?authorization=Bearer%20${token}`]) {
      expect((await anonymous.call("GET", `/v1/sessions${query}`)).status).toBe(401);
    }
    const wrong = { authorization: `Basic ${Buffer.from(`a:${token}`).toString("base64")}` };
    expect((await anonymous.call("GET", "/v1/sessions", undefined, wrong)).status).toBe(401);
    expect((await anonymous.call("GET", "/v1/sessions", undefined, { cookie: `token=${token}` })).status).toBe(401);
  });

  test("that expires stops its runs and streams, even without another request", async () => {
    let nowMs = Date.now();
    const service = await open({ now: () => nowMs, audit: true });
    const client = await service.client("a", { scopes: ["run", "audit"], expiresMs: nowMs + 60_000 });
    await client.session("s");
    const run = await client.fetch("/v1/sessions/s/runs", {
      ...{ method: "POST", headers: { accept: "text/event-stream", "content-type": "application/json" } },
      body: JSON.stringify({ code: "wait" }),
    });
    const tail = await client.fetch("/v1/audit", { headers: { accept: "text/event-stream" } });
    nowMs += 61_000;
    const results = [];
    for await (const { event, data } of eventsOf(run))
      if (event === "result") results.push((data.run as { status: string }).status);
    expect(results).toEqual(["cancelled"]);
    for await (const _event of eventsOf(tail));
  });

  test("that is rotated closes the streams of the old secret, and its runs continue", async () => {
    const service = await open({ audit: true });
    const client = await service.client("a", { scopes: ["run", "audit"] });
    await client.session("s");
    const { json } = await client.call("POST", "/v1/sessions/s/runs", { code: "wait", wait: 0 });
    const tail = await client.fetch("/v1/audit", { headers: { accept: "text/event-stream" } });
    const { token } = await service.tokens.rotate("a");
    await expect(async () => {
      for await (const _event of eventsOf(tail));
    }).rejects.toThrow();
    expect((await client.call("GET", "/v1/sessions")).status).toBe(401);
    const renewed = { authorization: `Bearer ${token}` };
    const run = await service.anonymous().call("GET", `/v1/sessions/s/runs/${json.run_id}`, undefined, renewed);
    expect(run.json.status).toBe("running");
  });

  test("that expires makes its download links invalid", async () => {
    let nowMs = Date.now();
    const service = await open({ now: () => nowMs });
    await service.client("a", { scopes: ["run"], expiresMs: nowMs + 60_000 });
    const [{ namespace = "" } = {}] = await service.tokens.all();
    const file = { session: "s", name: "x", sha256: "0".repeat(64) };
    const { url } = service.service.links.url(namespace, file, { forMs: 7 * 24 * 3_600_000 });
    const code = async () => (await service.anonymous().call("GET", new URL(url).pathname)).json.error.code;
    expect(await code()).toBe("session_unknown");
    nowMs += 61_000;
    expect(await code()).toBe("not_found");
  });

  test("is refused if others can read the token file, and the error does not name the file", async () => {
    const service = await open();
    const client = await service.client("a");
    await chmod(join(service.stateDir, "tokens.json"), 0o644);
    for (const caller of [client, service.anonymous()]) {
      const { status, text } = await caller.call("GET", "/v1/sessions");
      expect(status).toBe(500);
      expect(text).not.toContain("tokens");
    }
  });
});

describe("a URL path", () => {
  test.each([
    "http://localhost/v1/sessions",
    "//localhost/v1/sessions",
    "/v1/sessions/",
    "/v1/./sessions",
    "/v1/%73essions/%2e%2e",
    "/v1/sessions;x=1",
    "/V1/sessions",
    "*",
  ])("that is another spelling of a route is not found: %s", async (path) => {
    const service = await open();
    const { token } = await service.client("a");
    const head = `GET ${path} HTTP/1.1\r\n${local}Authorization: Bearer ${token}\r\n${last}`;
    expect(await answerTo(service, head)).toMatch(/^HTTP\/1\.1 40[04] /);
  });
});

describe("a hostile client", () => {
  test("that does not read its stream is disconnected and uses little memory", { timeout: 60_000 }, async () => {
    const service = await open({ limits: { stallMs: 500 }, policy: { proc: { output: "100MiB" } } });
    const client = await service.client("a");
    await client.session("s");
    const socket = await connected(service);
    socket.pause();
    const body = JSON.stringify({ code: "flood" });
    const head = [
      ...["POST /v1/sessions/s/runs HTTP/1.1", "Host: localhost", `Authorization: Bearer ${client.token}`],
      ...["Accept: text/event-stream", "Content-Type: application/json", `Content-Length: ${body.length}`],
    ];
    socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
    // A slow watcher does not delay the run, and its request ends.
    const hasEnded = async () => /status="200"\} 1\n/.test(service.service.metricsText());
    await expect.poll(hasEnded, { timeout: 30_000, interval: 50 }).toBe(true);
    const { runs } = (await client.call("GET", "/v1/sessions/s/runs")).json;
    expect(runs).toMatchObject([{ status: "ok" }]);
    let received = 0;
    socket.on("data", (bytes) => {
      received += bytes.length;
    });
    socket.resume();
    await once(socket, "close");
    expect(received).toBeLessThan(48 * 2 ** 20); // only what the OS had already buffered
  });

  test("that sends requests without reading the responses is disconnected", async () => {
    const service = await open({ limits: { stallMs: 500, connections: 1 } });
    const socket = await connected(service);
    socket.pause();
    const { token } = await service.client("a"); // with a token the responses are longer, so fewer are needed
    socket.write(`GET /v1/openapi.json HTTP/1.1\r\n${local}Authorization: Bearer ${token}\r\n\r\n`.repeat(400));
    await expect.poll(() => service.service.metricsText(), { timeout: 10_000 }).toMatch(/status="200"\} \d{2,}\n/);
    // The service allows only one connection, so another client gets in only when this one is disconnected.
    const healthResponse = () => answerTo(service, `GET /v1/health HTTP/1.1\r\n${local}${last}`);
    await expect.poll(healthResponse, { timeout: 15_000 }).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("that requests the OpenAPI document often does not make the service build it again", async () => {
    const { service } = await open();
    expect(service.openApi()).toBe(service.openApi());
  });

  test("that stalls many large bodies is refused, and keeps no other client out", { timeout: 60_000 }, async () => {
    const service = await open({ limits: { jsonBytes: 2 ** 20, bodyWaitMs: 100 } });
    const [client, other] = [await service.client("a"), await service.client("b")];
    const sent = "x".repeat(900 * 1024);
    for (const path of ["/v1/sessions", "/mcp"]) {
      const answers: string[] = [];
      const sockets: Socket[] = [];
      for (let at = 0; at < 12; at++) {
        const socket = await connected(service);
        sockets.push(socket);
        socket.once("data", (bytes) => answers.push(String(bytes).split(" ")[1] ?? ""));
        const head = `POST ${path} HTTP/1.1\r\n${local}Authorization: Bearer ${client.token}\r\n`;
        socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${2 ** 20}\r\n\r\n"${sent}`);
      }
      // Four bodies of the largest size fit for one token.
      await expect.poll(() => answers.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(7);
      expect(new Set(answers)).toEqual(new Set(["429"]));
      expect((await client.call("GET", "/v1/sessions")).status).toBe(200);
      expect((await other.call("POST", "/v1/sessions", { session_id: "s".repeat(100), x: sent })).status).toBe(400);
      for (const socket of sockets) socket.destroy();
    }
    // What the stalled bodies had is free again.
    await expect
      .poll(async () => (await client.call("POST", "/v1/sessions", { x: sent })).status, { timeout: 10_000 })
      .toBe(400);
  });

  test.each([
    ["deep nesting", `{"value":${"[".repeat(13 * 2 ** 20)}`],
    ["a million keys", `{${Array.from({ length: 1_000_000 }, (_, index) => `"k${index}":1`).join(",")}}`],
  ])("that sends %s does not hold up other clients", async (_what, body) => {
    const service = await open();
    const [client, other] = [await service.client("a"), await service.client("b")];
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    for (const path of ["/v1/sessions", "/mcp"]) {
      const answer = client.fetch(path, { method: "POST", headers, body });
      let longestMs = 0;
      let isDone = false;
      void answer.finally(() => {
        isDone = true;
      });
      while (!isDone) {
        const startedAt = performance.now();
        await other.call("GET", "/v1/health");
        longestMs = Math.max(longestMs, performance.now() - startedAt);
      }
      const refusal = await answer;
      expect([refusal.status, await refusal.text()]).toEqual([400, expect.stringMatching(/levels deep|keys/)]);
      expect(longestMs).toBeLessThan(1_000);
    }
  });

  test("that sends a key twice is refused", async () => {
    const service = await open();
    const client = await service.client("a");
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const post = async (path: string, body: string) =>
      (await client.fetch(path, { method: "POST", headers, body })).text();
    expect(await post("/v1/sessions", '{"session_id":"a","session_id":"b"}')).toContain("twice");
    expect(await post("/mcp", '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"ping"}')).toContain("twice");
  });

  test("that connects and sends nothing is disconnected", async () => {
    const service = await open({ limits: { headersMs: 100, requestMs: 100 } });
    const socket = await connected(service);
    socket.resume();
    await once(socket, "close");
  });

  test("with idle connections and unfinished requests does not keep other clients out", async () => {
    const service = await open({ limits: { connections: 8, requests: 2 } });
    const client = await service.client("a");
    for (let at = 0; at < 8; at++) {
      const idle = await connected(service);
      idle.write(`GET /v1/health HTTP/1.1\r\n${local}\r\n`);
      await once(idle, "data");
    }
    expect((await client.call("GET", "/v1/sessions")).status).toBe(200);
    for (let at = 0; at < 3; at++) {
      const half = await connected(service);
      half.write(`POST /v1/sessions HTTP/1.1\r\n${local}Content-Length: 100\r\n\r\n{`);
      await once(half, "data"); // refused at once, while the service still reads the rest of the body
    }
    expect((await client.call("GET", "/v1/sessions")).status).toBe(200);
  });

  test("that uses up all requests of the service does not make an orchestrator restart it", async () => {
    const service = await open({ limits: { requests: 2 } });
    const [client, other] = [await service.client("a"), await service.client("b")];
    for (let at = 0; at < 2; at++) {
      const { body } = await client.fetch("/v1/events");
      onTestFinished(async () => void (await body?.cancel().catch(() => {})));
    }
    expect((await other.call("GET", "/v1/sessions")).status).toBe(503);
    for (const path of ["/v1/health", "/readyz"])
      expect((await service.anonymous().call("GET", path)).status).toBe(200);
  });

  test("cannot open more connections than the limit", async () => {
    const service = await open({ limits: { connections: 3 } });
    const client = await service.client("a");
    await client.session("s");
    const { headers } = await client.run("s", "wait", { wait: 0 });
    const head = `GET ${headers.get("location")}/events HTTP/1.1\r\n${local}Authorization: Bearer ${client.token}\r\n\r\n`;
    const watching = [];
    for (let at = 0; at < 3; at++) {
      const socket = await connected(service);
      socket.write(head);
      await once(socket, "data");
      watching.push(socket);
    }
    const late = await connected(service);
    late.resume();
    await once(late, "close");
    expect(watching.map(({ closed }) => closed)).toEqual([false, false, false]);
  });
});

describe("the metrics of the HTTP service", () => {
  test("contain no tenant, no session and no path that a client made up", async () => {
    const service = await open();
    const client = await service.client("alice-the-tenant", { scopes: ["admin"] });
    await client.session("secret-session");
    await client.run("secret-session", "1");
    await client.call("GET", "/v1/made-up-path");
    const { text } = await client.call("GET", "/metrics");
    expect(text).toContain('route="/v1/sessions/{session}/runs"');
    expect(text).not.toMatch(/alice|secret|ns-|made-up/);
  });

  test("need a token for requests that a proxy on this machine forwards", async () => {
    const service = await open({ openMetrics: true });
    const anonymous = service.anonymous();
    expect((await anonymous.call("GET", "/metrics")).status).toBe(200);
    for (const name of ["x-forwarded-for", "forwarded", "x-real-ip", "via"]) {
      expect((await anonymous.call("GET", "/metrics", undefined, { [name]: "for=192.0.2.1" })).status).toBe(401);
    }
  });
});
