import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { namespaceOf } from "../../src/service/events/event-view.ts";
import { forwardedHeader, signForward } from "../../src/service/gateways/peer-signature.ts";
import { type TestGateway, TestGateways } from "../support/gateways.ts";
import { eventsOf, type TestClient } from "../support/http-service.ts";
import { noPostgres, type PostgresServer, startPostgres } from "../support/postgres.ts";
import { skipsProcess } from "../support/process-cells.ts";

describe.skipIf(noPostgres !== undefined || skipsProcess)("two gateways with one database", () => {
  let server: PostgresServer;
  let gateways: TestGateways;
  let first: TestGateway;
  let second: TestGateway;
  let here: TestClient;
  let there: TestClient;
  const logged: string[] = [];

  beforeAll(async () => {
    server = await startPostgres();
    const log = (message: string, fields?: object) => void logged.push(`${message} ${JSON.stringify(fields ?? {})}`);
    const logger = { debug: log, info: log, warn: log, error: log };
    gateways = await TestGateways.open({ url: await server.newDatabase(), logger });
    [first, second] = await Promise.all([gateways.start(), gateways.start()]);
    const token = await gateways.token("tenant");
    here = first.client(token);
    there = second.client(token);
  });
  afterAll(async () => {
    await gateways?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  test("a session of one gateway is used through the other one: runs, streams, variables, files and the end", async () => {
    await here.session("shared");
    expect((await here.run("shared", "x = 41")).json.status).toBe("ok");
    expect((await there.run("shared", "x + 1")).json.value).toBe("42");
    const response = await there.fetch("/v1/sessions/shared/runs", {
      method: "POST",
      headers: { accept: "text/event-stream", "content-type": "application/json" },
      body: JSON.stringify({ code: "print('a'); print('b')" }),
    });
    const events: string[] = [];
    for await (const { event } of eventsOf(response)) events.push(event);
    expect([...new Set(events)]).toEqual(["run", "stdout", "result"]);
    const large = Buffer.alloc(3_000_000, "x");
    const put = await there.fetch("/v1/sessions/shared/files/data.bin", { method: "PUT", body: large });
    expect(put.status).toBeLessThan(300);
    const got = await there.fetch("/v1/sessions/shared/files/data.bin");
    expect(Buffer.from(await got.arrayBuffer()).equals(large)).toBe(true);
    const started = await there.run("shared", "import time; time.sleep(60)", { wait: 0 });
    expect(started.status).toBe(202);
    const runPath = `/v1/sessions/shared/runs/${started.json.run_id}`;
    expect((await there.call("POST", `${runPath}/cancel`)).status).toBeLessThan(300);
    expect((await there.call("GET", `${runPath}?wait=20`)).json.status).toBe("cancelled");
    expect((await there.call("DELETE", "/v1/sessions/shared")).status).toBe(204);
    expect((await here.call("GET", "/v1/sessions/shared")).status).toBe(404);
  });

  test("a link that one gateway signed is served by the other", async () => {
    await here.session("linked");
    await here.run("linked", "open('/workspace/out.txt', 'w').write('from here')");
    const { json } = await there.call("POST", "/v1/sessions/linked/links", { path: "out.txt" });
    const { pathname } = new URL(json.url);
    for (const client of [here, there]) expect(await (await client.fetch(pathname)).text()).toBe("from here");
    await here.call("DELETE", "/v1/sessions/linked");
  });

  test("readers of a link that take nothing count for its tenant at the gateway that passes them on, too", async () => {
    await here.session("held");
    await here.run("held", "open('/workspace/large', 'wb').write(bytes(16 << 20))");
    const { json } = await here.call("POST", "/v1/sessions/held/links", { path: "large" });
    const { pathname } = new URL(json.url);
    const link = second.service.links.check(pathname.split("/").at(-1) ?? "");
    const tenant = await second.service.tenantOf(
      link.status === "valid" ? (namespaceOf(link.claim.session) ?? "") : "",
    );
    expect(tenant?.linked.size).toBe(0);
    const reading = await there.fetch(pathname);
    expect(tenant?.linked.size).toBe(1);
    await reading.body?.cancel();
    await expect.poll(() => tenant?.linked.size).toBe(0);
    await here.call("DELETE", "/v1/sessions/held");
  });

  test("if both create a session of one name at once, one does and the other passes the request on", async () => {
    for (const name of ["race-1", "race-2", "race-3"]) {
      const create = (client: TestClient) => client.call("POST", "/v1/sessions", { session_id: name });
      const statuses = (await Promise.all([create(here), create(there)])).map(({ status }) => status);
      expect(statuses.sort()).toEqual([200, 201]);
      await here.run(name, "owner = 'one'");
      expect((await there.run(name, "owner")).json.value).toBe("'one'");
      await here.call("DELETE", `/v1/sessions/${name}`);
    }
  });

  test("every gateway lists the sessions of the tenant, and an admin sees who has them", async () => {
    await here.session("listed-1");
    await there.session("listed-2");
    for (const client of [here, there]) {
      const { json } = await client.call("GET", "/v1/sessions");
      const ids = json.sessions.map(({ session_id }: { session_id: string }) => session_id);
      expect(ids.sort()).toEqual(["listed-1", "listed-2"]);
    }
    const admin = second.client(await gateways.token("admin", { scopes: ["admin"] }));
    const { json } = await admin.call("GET", "/v1/sessions?namespaces=all");
    const owners = json.sessions.map((one: { session_id: string; gateway: string }) => [one.session_id, one.gateway]);
    expect(Object.fromEntries(owners)).toMatchObject({ "listed-1": first.id, "listed-2": second.id });
    const list = await admin.call("GET", "/v1/gateways");
    expect(list.json.gateways).toMatchObject([
      { alive: true, sessions: 1 },
      { alive: true, sessions: 1 },
    ]);
    expect((await here.call("GET", "/v1/gateways")).status).toBe(403);
    await here.run("listed-2", "1"); // passed on to the gateway whose metrics are read
    const metrics = await (await admin.fetch("/metrics")).text();
    expect(metrics).toContain("codecell_gateway_lease_held 1");
    expect(metrics).toMatch(/codecell_gateway_forwarded_total\{direction="received"\} [1-9]/);
    for (const id of ["listed-1", "listed-2"]) await here.call("DELETE", `/v1/sessions/${id}`);
  });

  test("the limit of sessions of a token holds over all gateways, also if both create at once", async () => {
    const token = await gateways.token("limited", { sessions: 3 });
    const clients = [first.client(token), second.client(token)];
    const created = await Promise.all(
      [0, 1, 2, 3, 4, 5, 6, 7].map((n) => clients[n % 2]?.call("POST", "/v1/sessions", { session_id: `s${n}` })),
    );
    const statuses = created.map((answer) => answer?.status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(3);
    expect(statuses.filter((status) => status === 429)).toHaveLength(5);
  });

  test("a token of another tenant finds nothing, whichever gateway it asks", async () => {
    await here.session("private");
    const stranger = await gateways.token("stranger");
    for (const gateway of [first, second]) {
      const answer = await gateway.client(stranger).run("private", "1");
      expect([answer.status, answer.json.error.code]).toEqual([404, "session_unknown"]);
    }
    await here.call("DELETE", "/v1/sessions/private");
  });

  test("a client that says it is a gateway is refused, whatever it invents or repeats", async () => {
    await here.session("forged");
    const path = "/v1/sessions/forged";
    const claim = { from: first.id, to: second.id, atMs: Date.now(), method: "GET", target: path };
    const own = signForward(Buffer.alloc(32), claim);
    const real = first.gateways.sign(second.id, { method: "GET", target: path });
    for (const header of ["1", "true", own, `${real}x`]) {
      const answer = await there.call("GET", path, undefined, { [forwardedHeader]: header });
      expect([answer.status, answer.json.error.code]).toEqual([403, "forbidden"]);
    }
    // A signature that somebody saw on the network opens nothing: not another path, and nothing without a token.
    const otherPath = await there.call("GET", `${path}/variables`, undefined, { [forwardedHeader]: real });
    expect(otherPath.status).toBe(403);
    const without = await second.client(undefined).call("GET", path, undefined, { [forwardedHeader]: real });
    expect(without.status).toBe(401);
    await here.call("DELETE", path);
  });

  test("a request is passed on once: a gateway that does not have the session after all says so", async () => {
    await here.session("moved");
    const target = "/v1/sessions/moved";
    const header = first.gateways.sign(second.id, { method: "GET", target });
    const answer = await there.call("GET", target, undefined, { [forwardedHeader]: header });
    expect([answer.status, answer.json.error.message]).toEqual([
      503,
      "the session moved to another gateway while the request arrived",
    ]);
    await here.call("DELETE", target);
  });

  test("MCP works through any gateway: connections, the default session, named sessions and runs", async () => {
    const open = await mcp(here, undefined, "initialize", {
      ...{ protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
    });
    const connection = open.headers.get("mcp-session-id") ?? "";
    expect(connection).toContain(first.id);
    const call = async (client: TestClient, name: string, args: object) =>
      JSON.stringify((await mcp(client, connection, "tools/call", { name, arguments: args })).message);
    // The connection is here and so is the session; then the session is there.
    expect(await call(there, "run_python", { code: "x = 'default'" })).toContain('"status":"ok"');
    expect(await call(here, "run_python", { code: "x" })).toContain("'default'");
    await there.session("of-second");
    await there.run("of-second", "y = 'named'");
    for (const client of [here, there]) {
      expect(await call(client, "run_python", { code: "y", session_id: "of-second" })).toContain("'named'");
    }
    const running = await call(here, "run_python", {
      code: "import time; time.sleep(1); 7 * 6",
      session_id: "of-second",
      wait: 0,
    });
    const [runId = ""] = /run_[\w-]+\.g-[0-9a-f]{10}/.exec(running) ?? [];
    expect(runId).toContain(second.id);
    expect(await call(here, "get_run", { run_id: runId, wait: 20 })).toContain("42");
    const strange = await here.fetch("/mcp", {
      ...mcpRequest("tools/list", {}),
      headers: { ...mcpRequest("tools/list", {}).headers, "mcp-session-id": "unknown.g-0123456789" },
    });
    expect(strange.status).toBe(404);
  });

  test("a gateway whose peer cannot be reached answers 503 with the reason", async () => {
    const lonely = await gateways.start({ peerUrl: () => "http://127.0.0.1:9" });
    const token = await gateways.token("cut");
    await lonely.client(token).session("far");
    const answer = await first.client(token).run("far", "1");
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(answer.json.error.message).toContain(`gateway ${lonely.id}, which has this session, did not answer`);
  });

  test("a program in a cell does not reach a gateway, neither directly nor through the proxy of the cell", async () => {
    const policy = { net: { enabled: true, allowlist: ["packages.example"] } };
    const networked = await gateways.start({ policy });
    const client = networked.client(await gateways.token("networked"));
    await client.session("curious");
    const { port } = first.listener;
    const { json } = await client.run(
      "curious",
      `import socket, urllib.request
def attempt(what):
    try: return what()
    except Exception as error: return type(error).__name__
tries = [lambda: socket.create_connection(("127.0.0.1", ${port}), 2)]
for host in ("127.0.0.1", "localhost"):
    tries.append(lambda: urllib.request.urlopen(f"http://{host}:${port}/v1/health", timeout=3).read())
    proxy = urllib.request.build_opener(urllib.request.ProxyHandler({"http": "http://127.0.0.1:3128"}))
    tries.append(lambda: proxy.open(f"http://{host}:${port}/v1/health", timeout=3).read())
[attempt(one) for one in tries]`,
    );
    expect(json.status).toBe("ok");
    expect(json.value).not.toContain("ok");
    expect(json.value.match(/Error/g)).toHaveLength(5);
  });

  test("no log line has the keys, signatures or tokens", async () => {
    const keys = await server.query(
      urlOf(server),
      "select encode(key, 'hex') as hex, encode(key, 'base64') as b64 from codecell.shared_keys",
    );
    const all = logged.join("\n");
    expect(keys).toHaveLength(2);
    for (const { hex, b64 } of keys) {
      expect(all).not.toContain(hex);
      expect(all).not.toContain(b64);
    }
    expect(all).not.toContain(String(here.token));
    expect(all).not.toContain(forwardedHeader);
  });
});

function mcpRequest(method: string, params: object) {
  return {
    method: "POST",
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
  };
}

async function mcp(client: TestClient, connection: string | undefined, method: string, params: object) {
  const request = mcpRequest(method, params);
  const ids = connection === undefined ? {} : { "mcp-session-id": connection };
  const response = await client.fetch("/mcp", { ...request, headers: { ...request.headers, ...ids } });
  const text = await response.text();
  const data = text.split("\n").find((line) => line.startsWith("data: "));
  return { headers: response.headers, message: JSON.parse(data?.slice(6) ?? text) };
}

function urlOf({ port }: PostgresServer): string {
  return `postgres://tester@127.0.0.1:${port}/test_1`;
}
