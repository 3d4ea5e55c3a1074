import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { type FakeRun, FakeRunner } from "../../../test/fakes/fake-runner.ts";
import { eventsOf, type ServiceSetup, TestService } from "../../../test/support/http-service.ts";
import { routes } from "./routes.ts";

/** `wait` runs until it is interrupted, `open` until the test calls `openGate`. Any other code is printed. */
async function program(run: FakeRun, gate: Promise<void>) {
  if (run.code === "wait") {
    run.print("stdout", "started\n");
    await run.interrupted;
    return { status: "cancelled" as const };
  }
  if (run.code === "open") {
    run.print("stdout", "before\n");
    await Promise.race([gate, run.interrupted]);
    run.print("stdout", "after\n");
    return {};
  }
  run.print("stdout", run.code);
  return {};
}

let here: TestService | undefined;
let openGate = () => {};
async function open(setup: Omit<ServiceSetup, "runners"> = {}): Promise<TestService> {
  const gate = new Promise<void>((resolve) => {
    openGate = resolve;
  });
  const runner = new FakeRunner({ program: (run) => program(run, gate) });
  here = await TestService.open({ ...setup, runners: [runner] });
  return here;
}
afterEach(async () => {
  openGate();
  await here?.[Symbol.asyncDispose]();
  here = undefined;
});

describe("the HTTP service", () => {
  test("returns the same 401 on every path without a token, except health and the page", async () => {
    const service = await open();
    const anonymous = service.anonymous();
    const paths = [...routes.filter(({ scope }) => scope !== "none").map(({ path }) => path), "/mcp", "/v1/nothing"];
    const answers = await Promise.all(paths.map((path) => anonymous.call("GET", path)));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(401);
    expect(answers[0]?.headers.get("www-authenticate")).toBe("Bearer");
    expect(await anonymous.call("GET", "/v1/health")).toMatchObject({ status: 200, json: { status: "ok" } });
  });

  test("allows only the calls that the token's scopes permit", async () => {
    const service = await open();
    const [runs, reads, meters] = [
      await service.client("runs"),
      await service.client("reads", { scopes: ["read"] }),
      await service.client("meters", { scopes: ["metrics"] }),
    ];
    expect((await reads.call("GET", "/v1/sessions")).status).toBe(200);
    expect((await reads.call("POST", "/v1/sessions", {})).json.error).toMatchObject({ code: "forbidden" });
    expect((await reads.call("POST", "/mcp", {})).status).toBe(403);
    expect((await runs.call("GET", "/metrics")).status).toBe(403);
    expect((await meters.call("GET", "/v1/sessions")).status).toBe(403);
    expect((await meters.call("GET", "/metrics")).text).toContain("codecell_http_requests_total");
  });

  test("cancels the runs of a token that was removed", async () => {
    const service = await open();
    const [client, other] = [await service.client("gone"), await service.client("stays")];
    await client.session("a");
    const stream = await client.fetch("/v1/sessions/a/runs", {
      method: "POST",
      body: JSON.stringify({ code: "wait" }),
      headers: { accept: "text/event-stream", "content-type": "application/json" },
    });
    await service.tokens.remove("gone");
    expect((await client.call("GET", "/v1/sessions")).status).toBe(401);
    await other.call("GET", "/v1/sessions");
    const events = [];
    for await (const event of eventsOf(stream)) events.push(event);
    expect(events.at(-1)).toMatchObject({ event: "result", data: { run: { status: "cancelled" } } });
  });

  test("refuses requests with the Host or Origin of another site", async () => {
    const service = await open();
    const { headers } = await service.client("a");
    const statusWith = async (more: Record<string, string>) => {
      const request = httpRequest(`${service.listener.url}/v1/health`, { headers: { ...headers, ...more } }).end();
      const [response] = await once(request, "response");
      response.resume();
      return response.statusCode;
    };
    expect(await statusWith({})).toBe(200);
    expect(await statusWith({ host: "attacker.example" })).toBe(403);
    expect(await statusWith({ origin: "https://attacker.example" })).toBe(403);
  });

  test("with openMetrics allows this machine to read the metrics, and nothing else, without a token", async () => {
    const anonymous = (await open({ openMetrics: true })).anonymous();
    expect((await anonymous.call("GET", "/metrics")).status).toBe(200);
    expect((await anonymous.call("GET", "/v1/sessions")).status).toBe(401);
  });
});

describe("a tenant's session", () => {
  const bodies: Record<string, object> = {
    startRun: { code: "x" },
    forkSession: {},
    changeSessionPolicy: { net: { allowlist: [] } },
    setVariable: { value: 1 },
    readValue: { expression: "x" },
    createLink: { path: "x" },
    createCheckpoint: { name: "x" },
    setFunctions: { functions: [] },
    answerCall: { value: 1 },
    appendStdin: { text: "x" },
    complete: { code: "x" },
    createDisplayLink: { run: 1, display: 1, mime_type: "text/html" },
  };
  const inSession = routes.filter(({ path }) => path.includes("{session}"));

  test.each(inSession.map((route) => [`${route.method} ${route.path}`, route] as const))(
    "looks nonexistent to another tenant's %s",
    async (_, route) => {
      const service = await open();
      const [alice, bob] = [await service.client("alice"), await service.client("bob")];
      await alice.session("secret");
      const { json: run } = await alice.run("secret", "x");
      const call = async (session: string) => {
        const path = route.path
          .replace("{session}", session)
          .replace("{run}", run.run_id)
          .replace("{call}", "1")
          .replaceAll(/\{\w+(?:\.\.\.)?\}/g, "x");
        const answer = await bob.call(route.method, path, bodies[route.id]);
        const headers = Object.fromEntries(
          [...answer.headers].filter(([name]) => !["date", "content-length"].includes(name)),
        );
        return { status: answer.status, headers, text: answer.text.replaceAll(session, "ID") };
      };
      const foreign = await call("secret");
      expect(foreign).toEqual(await call("nobody"));
      expect(foreign.status).toBe(404);
      expect(foreign.text).toContain("session_unknown");
      expect(foreign.text).not.toMatch(/ns-[0-9a-f]{12}/);
      expect((await alice.call("GET", "/v1/sessions/secret")).status).toBe(200);
    },
  );

  test("can have the same id as another tenant's, and does not share its runs", async () => {
    const service = await open();
    const [alice, bob] = [await service.client("alice"), await service.client("bob")];
    await alice.session("a");
    await bob.session("a");
    const { json } = await alice.run("a", "mine");
    expect((await bob.call("GET", `/v1/sessions/a/runs/${json.run_id}`)).json.error.code).toBe("run_gone");
    expect((await bob.call("GET", "/v1/sessions/a/runs")).json.runs).toEqual([]);
    await alice.session("b");
    expect((await alice.call("GET", `/v1/sessions/b/runs/${json.run_id}`)).status).toBe(404);
    expect((await alice.call("GET", `/v1/sessions/a/runs/${json.run_id}`)).json).toMatchObject({ stdout: "mine" });
  });

  test("counts against the quota of its own tenant only", async () => {
    const service = await open();
    const [alice, bob] = [await service.client("alice", { sessions: 1 }), await service.client("bob", { sessions: 1 })];
    await alice.session("a");
    const refused = await alice.call("POST", "/v1/sessions", {});
    expect(refused).toMatchObject({ status: 429, json: { error: { code: "session_limit" } } });
    expect(refused.headers.get("retry-after")).toBe("1");
    expect((await bob.call("POST", "/v1/sessions", { session_id: "a" })).status).toBe(201);
    expect((await alice.call("POST", "/v1/sessions", { session_id: "a" })).status).toBe(200);
  });
});

describe("a run over HTTP", () => {
  test("returns its result, or 202 with a location if it is still running after the wait", async () => {
    const client = await (await open()).client("a");
    await client.session("s");
    expect((await client.run("s", "hello")).json).toMatchObject({ status: "ok", stdout: "hello", session_id: "s" });
    const long = await client.run("s", "open", { wait: 0 });
    expect(long).toMatchObject({ status: 202, json: { status: "running", state: null } });
    const path = long.headers.get("location") ?? "";
    expect((await client.run("s", "x")).json.error).toMatchObject({ code: "session_busy" });
    const queued = client.run("s", "next", { when_busy: "wait" });
    openGate();
    expect((await client.call("GET", `${path}?wait=20`)).json).toMatchObject({
      status: "ok",
      stdout: "before\nafter\n",
    });
    expect((await queued).json).toMatchObject({ status: "ok", stdout: "next" });
  });

  test("streams its events from any offset to any number of clients, then its result", async () => {
    const client = await (await open()).client("a");
    await client.session("s");
    const { headers, json } = await client.run("s", "open", { wait: 0 });
    const path = `${headers.get("location")}/events`;
    const first = eventsOf(await client.fetch(path));
    expect((await first.next()).value).toMatchObject({ event: "run", data: { run_id: json.run_id } });
    expect((await first.next()).value).toMatchObject({
      event: "stdout",
      id: "0",
      data: { type: "stdout", offset: 0, text: "before\n" },
    });
    openGate();
    const rest = [];
    for await (const event of first) rest.push(event);
    expect(rest).toMatchObject([
      { event: "stdout", id: "1" },
      { event: "result", id: "2", data: { type: "result", offset: 2, run: { status: "ok" } } },
    ]);
    const again = [];
    for await (const event of eventsOf(await client.fetch(path, { headers: { "last-event-id": "0" } })))
      again.push(event);
    expect(again.slice(1)).toEqual(rest);
    expect((await client.call("GET", path, undefined, { "last-event-id": "x" })).status).toBe(400);
  });

  test("continues when its client disconnects, and stops when it is cancelled", async () => {
    const client = await (await open()).client("a");
    await client.session("s");
    const leaving = new AbortController();
    const stream = await client.fetch("/v1/sessions/s/runs", {
      ...{ method: "POST", body: JSON.stringify({ code: "wait" }), signal: leaving.signal },
      headers: { accept: "text/event-stream", "content-type": "application/json" },
    });
    const { value } = await eventsOf(stream).next();
    leaving.abort();
    const path = `/v1/sessions/s/runs/${value?.data.run_id}`;
    expect((await client.call("GET", path)).json.status).toBe("running");
    expect((await client.call("POST", `${path}/cancel?wait=20`)).json).toMatchObject({ status: "cancelled" });
    expect((await client.call("GET", "/v1/sessions/s/runs")).json.runs).toMatchObject([
      { status: "cancelled", cancelled: true },
    ]);
  });

  test("that is requested twice with one Idempotency-Key runs once, even if the first reply was lost", async () => {
    const client = await (await open()).client("a");
    await client.session("s");
    const start = (code: string, key: string, more: object = {}) =>
      client.call("POST", "/v1/sessions/s/runs", { code, ...more }, { "idempotency-key": key });
    const both = await Promise.all([start("once", "key-00000001"), start("once", "key-00000001")]);
    expect(both.map(({ status, json }) => [status, json.stdout])).toEqual([
      [200, "once"],
      [200, "once"],
    ]);
    expect(new Set(both.map(({ json }) => json.run_id)).size).toBe(1);
    expect((await start("other", "key-00000001")).json.error).toMatchObject({ code: "usage" });
    expect((await start("once", "key-00000002")).json.run_id).not.toBe(both[0]?.json.run_id);
    expect((await start("once", "short")).json.error.message).toMatch(/8 to 255/);
    // a refused start is no start: the same key may try again
    await client.run("s", "open", { wait: 0 });
    expect((await start("later", "key-00000003")).json.error).toMatchObject({ code: "session_busy" });
    openGate();
    expect((await start("later", "key-00000003", { when_busy: "wait" })).json).toMatchObject({ stdout: "later" });
    expect((await client.call("GET", "/v1/sessions/s/runs")).json.runs.length).toBe(4);
  });

  test("streams only its id and its result to a client that asks for events after the last one", async () => {
    const client = await (await open()).client("a");
    await client.session("s");
    const path = `/v1/sessions/s/runs?receipt=true&offset=${Number.MAX_SAFE_INTEGER}`;
    const stream = await client.fetch(path, {
      ...{ method: "POST", body: JSON.stringify({ code: "hello" }) },
      headers: { accept: "text/event-stream", "content-type": "application/json" },
    });
    const events = [];
    for await (const event of eventsOf(stream)) events.push(event);
    expect(events).toMatchObject([
      { event: "run" },
      { event: "result", data: { run: { stdout: "hello", number: 1, receipt: { runner: "wasm" } } } },
    ]);
  });

  test("is refused beyond the limits of the token and of the service", async () => {
    const service = await open({ limits: { runs: 2, runsPerToken: 1 } });
    const [alice, bob, carol] = [
      await service.client("alice"),
      await service.client("bob"),
      await service.client("carol"),
    ];
    for (const client of [alice, bob, carol]) for (const id of ["a", "b"]) await client.session(id);
    const { headers } = await alice.run("a", "wait", { wait: 0 });
    expect((await alice.run("b", "x")).json.error).toMatchObject({ code: "run_limit" });
    await bob.run("a", "wait", { wait: 0 });
    const full = await carol.run("a", "x");
    expect(full).toMatchObject({ status: 429, json: { error: { code: "run_limit" } } });
    expect(full.headers.get("retry-after")).toBe("1");
    await alice.call("POST", `${headers.get("location")}/cancel?wait=20`);
    expect((await carol.run("a", "x")).json.status).toBe("ok");
  });
});

describe("an invalid HTTP call", () => {
  test("gets an error with a status, a message and a hint", async () => {
    const client = await (await open()).client("a");
    await client.session("s");
    const wrong: [string, string, unknown, number, RegExp][] = [
      ["POST", "/v1/sessions", { session_id: "../x" }, 400, /invalid session id/],
      ["POST", "/v1/sessions", { nonsense: 1 }, 400, /nonsense/],
      ["POST", "/v1/sessions/s/runs", {}, 400, /code/],
      ["POST", "/v1/sessions/s/runs", { code: 1 }, 400, /code/],
      ["GET", "/v1/sessions/s/runs/x?wait=1000", undefined, 400, /wait/],
      ["GET", "/v1/sessions/s/runs/x", undefined, 404, /there is no run with id/],
      ["GET", "/v1/sessions?x=1", undefined, 400, /x/],
      ["GET", "/v1/nothing", undefined, 404, /nothing at this path/],
      ["PUT", "/v1/sessions", {}, 405, /accepts GET, POST/],
      ["GET", "/v1/sessions/s/variables/a.b()", undefined, 400, /name of a Python variable/],
      ["GET", "/v1/sessions/s/files", undefined, 501, /does not share its files/],
    ];
    for (const [method, path, body, status, message] of wrong) {
      const { json, ...answer } = await client.call(method, path, body);
      expect([path, answer.status]).toEqual([path, status]);
      expect(json.error.message).toMatch(message);
    }
    // the hint names calls of the HTTP API
    const unknown = await client.call("POST", "/v1/sessions/nobody/runs", { code: "1" });
    expect(unknown.json.error.hint).toBe("GET /v1/sessions lists your sessions, POST /v1/sessions starts one");
  });

  test("gets 400 if its body is not JSON or has no JSON content type", async () => {
    const client = await (await open()).client("a");
    const send = async (body: string, type: string) =>
      (await client.fetch("/v1/sessions", { method: "POST", body, headers: { "content-type": type } })).status;
    expect(await send("{", "application/json")).toBe(400);
    expect(await send("{}", "text/plain")).toBe(400);
    expect(await send("{}", "application/json; charset=utf-8")).toBe(201);
  });
});

describe("the HTTP service with limits", () => {
  test("refuses large bodies, with and without a Content-Length", async () => {
    const client = await (await open({ limits: { jsonBytes: 1_000 } })).client("a");
    const large = JSON.stringify({ session_id: "x".repeat(100_000) });
    const headers = { "content-type": "application/json" };
    expect((await client.fetch("/v1/sessions", { method: "POST", body: large, headers })).status).toBe(413);
    const body = new Blob([large]).stream();
    const streamed = { method: "POST", body, headers, duplex: "half" } as RequestInit & {
      headers: Record<string, string>;
    };
    expect((await client.fetch("/v1/sessions", streamed)).status).toBe(413);
    expect((await client.call("GET", "/v1/sessions")).status).toBe(200);
  });

  test("disconnects a client that sends its headers too slowly", async () => {
    const service = await open({ limits: { headersMs: 100 } });
    const socket = await service.socket();
    let answer = "";
    socket.on("data", (bytes) => {
      answer += bytes;
    });
    socket.write("GET /v1/health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
    await once(socket, "close");
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("disconnects a client that sends its body too slowly", async () => {
    const service = await open({ limits: { headersMs: 100, requestMs: 100 } });
    const { token } = await service.client("a");
    const socket = await service.socket();
    let answer = "";
    socket.on("data", (bytes) => {
      answer += bytes;
    });
    const head = `POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n`;
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`);
    await once(socket, "close");
    expect(answer).not.toMatch(/^HTTP\/1\.1 2/);
  });

  test("refuses large headers", async () => {
    const service = await open({ limits: { headerBytes: 2_048 } });
    const socket = await service.socket();
    socket.write(`GET /v1/health HTTP/1.1\r\nHost: localhost\r\nX-Large: ${"x".repeat(5_000)}\r\n\r\n`);
    const [answer] = await once(socket, "data");
    expect(String(answer)).toMatch(/^HTTP\/1\.1 431 /);
    socket.destroy();
  });

  test("refuses requests beyond the limits of the token and of the service", async () => {
    const service = await open({ limits: { requests: 3, requestsPerToken: 2 } });
    const [alice, bob] = [await service.client("alice"), await service.client("bob")];
    await alice.session("a");
    await bob.session("b");
    const { headers } = await alice.run("a", "wait", { wait: 0 });
    const path = headers.get("location") ?? "";
    const waiting = [await alice.fetch(`${path}/events`), await alice.fetch(`${path}/events`)];
    const refused = await alice.call("GET", "/v1/sessions");
    expect(refused).toMatchObject({ status: 429, json: { error: { code: "busy" } } });
    expect(refused.headers.get("retry-after")).toBe("1");
    expect((await bob.call("GET", "/v1/sessions")).status).toBe(200);
    await bob.run("b", "wait", { wait: 0 });
    const { json } = await bob.call("GET", "/v1/sessions/b/runs");
    waiting.push(await bob.fetch(`/v1/sessions/b/runs/${json.runs[0].run_id}/events`));
    expect((await bob.call("GET", "/v1/sessions")).status).toBe(503);
    await Promise.all(waiting.map((one) => one.body?.cancel()));
  });
});

describe("an HTTP service that shuts down", () => {
  test("finishes open requests and accepts no new ones", async () => {
    const service = await open();
    const client = await service.client("a");
    await client.session("s");
    const running = client.fetch("/v1/sessions/s/runs", {
      ...{ method: "POST", body: JSON.stringify({ code: "open" }) },
      headers: { accept: "text/event-stream", "content-type": "application/json" },
    });
    const events = eventsOf(await running);
    await events.next();
    const drained = service.service.drain();
    const refused = await client.call("GET", "/v1/health");
    expect(refused).toMatchObject({ status: 503, json: { error: { code: "draining" } } });
    openGate();
    await drained;
    const rest = [];
    for await (const event of events) rest.push(event.event);
    expect(rest.at(-1)).toBe("result");
  });

  test("stops runs that are still running", async () => {
    const service = await open();
    const client = await service.client("a");
    await client.session("s");
    const waiting = client.run("s", "wait", { wait: 50 });
    await service.service[Symbol.asyncDispose]();
    // the request may arrive before or after the shutdown
    expect([200, 410, 503]).toContain((await waiting).status);
  });
});
