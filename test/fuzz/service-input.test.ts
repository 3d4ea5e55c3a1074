import { once } from "node:events";
import fc, { type Arbitrary } from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { routes } from "../../src/surfaces/http/routes.ts";
import { FakeRunner } from "../fakes/fake-runner.ts";
import { patienceMs, tries } from "../support/fuzz/long-mode.ts";
import { mutatedBytes, mutatedObject, oddValues } from "../support/fuzz/mutations.ts";
import { type TestClient, TestService } from "../support/http-service.ts";

/** No request of this file takes long, so an answer that takes this long never comes. */
const hungMs = 20_000;

let service: TestService;
let client: TestClient;
beforeAll(async () => {
  const runner = new FakeRunner({ value: () => 1, variables: new Map() });
  const limits = { requestsPerSecond: 1e6 } as object;
  service = await TestService.open({ runners: [runner], limits, policy: { session: { limit: 100 } } });
  client = await service.client("fuzz", { sessions: 100 });
  await client.session("known");
  await client.run("known", "1");
});
afterAll(() => service?.[Symbol.asyncDispose]());

const oddText = fc.oneof(
  fc.constantFrom(
    "known",
    "1",
    "r1",
    "..",
    "%2e%2e%2f",
    "%00",
    "%ff",
    "*",
    "a/b",
    "__proto__",
    "🦊",
    "x".repeat(300),
    "-1",
    "1e9",
  ),
  fc.string({ unit: "binary", maxLength: 8 }),
);
const escaped = (text: string) => (text.startsWith("%") ? text : encodeURIComponent(Buffer.from(text).toString()));

/** Values that most routes would take, by the name of the field. */
const honest: Readonly<Record<string, unknown>> = {
  ...{
    session_id: "other",
    code: "1",
    language: "python",
    timeout_ms: 10,
    wait_ms: 1,
    name: "c",
    value: [1],
    path: "a.txt",
  },
  ...{
    functions: [],
    net: { enabled: false },
    stdin: "x",
    args: [],
    checkpoint: "c",
    ok: true,
    expires_s: 10,
    expression: "1",
  },
  ...{ limit: "2", after: "a", offset: "0", prefix: "a", format: "json" },
};

/** An object with some of these fields, honest or odd, and sometimes another one. */
function fields(names: readonly string[], value: Arbitrary<unknown>): Arbitrary<Record<string, unknown>> {
  const field = (name: string) =>
    fc.oneof({ weight: 4, arbitrary: fc.constant(honest[name] ?? 1) }, { weight: 1, arbitrary: value });
  const known = fc.record(Object.fromEntries(names.map((name) => [name, field(name)])), { requiredKeys: [] });
  const another = fc.tuple(fc.constantFrom("__proto__", "x"), value);
  const extra = fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: another });
  return fc.tuple(known, extra).map(([object, one]) => (one ? { ...object, [one[0]]: one[1] } : object));
}

const request = fc.constantFrom(...routes).chain((route) => {
  // the session has to stay for the other routes
  const first = route.method === "DELETE" && /sessions\/[^/]+$/.test(route.path) ? oddText : fc.constant("known");
  const names = (schema: { shape: object } | undefined) => Object.keys(schema?.shape ?? {});
  return fc.record({
    method: fc.oneof(
      { weight: 9, arbitrary: fc.constant(route.method as string) },
      fc.constantFrom("OPTIONS", "HEAD", "PUT"),
    ),
    path: fc.tuple(first, oddText, oddText, oddText).map((values) => {
      let at = 0;
      return route.path.replace(/[:*{][A-Za-z_]+\}?/g, () => escaped(values[at++ % 4] as string));
    }),
    query: fields(names(route.query as { shape: object } | undefined), oddText),
    body: fc.oneof(
      {
        weight: 6,
        arbitrary: fields(names(route.body as { shape: object } | undefined), fc.constantFrom(...oddValues)),
      },
      { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
    ),
    type: fc.constantFrom("application/json", "application/json", "application/json", "application/octet-stream"),
  });
});

test(
  "every request to a route gets a well-formed answer that is not an internal error, whatever it contains",
  async () => {
    const property = fc.asyncProperty(request, async ({ method, path, query, body: sent, type }) => {
      const search = Object.entries(query)
        .map(([name, value]) => `${name}=${escaped(String(value))}`)
        .join("&");
      const response = await client.fetch(`${path}?${search}`, {
        method,
        signal: AbortSignal.timeout(hungMs),
        headers: { "content-type": type },
        ...(method === "GET" || method === "HEAD" ? {} : { body: JSON.stringify(sent) ?? "null" }),
      });
      const text = await response.text();
      if (response.headers.get("content-type")?.startsWith("application/json") && text !== "") JSON.parse(text);
      if (response.status < 400 || method === "HEAD") return;
      const { error } = JSON.parse(text);
      expect(error).toMatchObject({ code: expect.any(String), message: expect.any(String) });
      expect([error.code, text]).not.toEqual(["internal", text]);
      // the cell of these tests cannot answer everything
      if (["cell_lost", "session_unknown"].includes(error.code) && path.includes("known"))
        await client.session("known");
    });
    await fc.assert(property, tries(250));
  },
  patienceMs,
);

const calls = [
  {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } },
  },
  { jsonrpc: "2.0", id: 2, method: "tools/list", params: {} },
  { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "run_python", arguments: { code: "1" } } },
  { jsonrpc: "2.0", id: 4, method: "tools/call", params: { name: "read_artifact", arguments: { path: "../x" } } },
  { jsonrpc: "2.0", id: 5, method: "resources/read", params: { uri: "file:///etc/passwd" } },
  { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } },
];
const rpc: Arbitrary<unknown> = fc.oneof(
  mutatedObject(calls),
  fc
    .tuple(
      fc.constantFrom(...calls),
      mutatedObject([{ name: "run_python", arguments: { code: "1" }, uri: "x", _meta: {} }]),
    )
    .map(([call, params]) => ({ ...call, params })),
  fc.array(fc.constantFrom(...calls), { maxLength: 3 }),
  fc.jsonValue({ maxDepth: 4 }),
);

test(
  "every message to the MCP endpoint gets an answer of JSON-RPC or is refused, and never an internal error",
  async () => {
    const property = fc.asyncProperty(rpc, async (message) => {
      const response = await client.fetch("/mcp", {
        method: "POST",
        signal: AbortSignal.timeout(hungMs),
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
        body: JSON.stringify(message) ?? "null",
      });
      const text = await response.text();
      expect([response.status, text]).not.toEqual([500, text]);
      const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
      const answers = isStream
        ? [...text.matchAll(/^data: (\{.*)$/gm)].map(([, one]) => one ?? "")
        : text === ""
          ? []
          : [text];
      for (const answer of answers) expect(JSON.parse(answer)).toBeTypeOf("object");
    });
    await fc.assert(property, tries(80));
  },
  patienceMs,
);

test(
  "mutated bytes on a connection are answered or the connection is closed, and the service goes on",
  async () => {
    const head = (line: string, more = "") =>
      Buffer.from(`${line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${client.token}\r\n${more}`);
    const json = '{"code":"1"}';
    const samples = [
      head("GET /v1/health", "\r\n"),
      head("GET /v1/sessions", "Accept: */*\r\n\r\n"),
      head(
        "POST /v1/sessions/known/runs",
        `Content-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`,
      ),
      head("PUT /v1/sessions/known/files/a", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
      head("POST /mcp", "Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n{}"),
      head("GET /v1/health", "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
    ];
    const property = fc.asyncProperty(mutatedBytes(samples), async (bytes) => {
      const socket = await service.socket();
      let answer = "";
      socket.on("data", (piece) => {
        answer += piece.toString("latin1");
      });
      socket.on("error", () => {});
      const closed = once(socket, "close", { signal: AbortSignal.timeout(hungMs) });
      socket.end(bytes);
      await closed;
      if (answer !== "") expect(answer).toMatch(/^HTTP\/1\.1 (?!500)[1-5]\d\d /);
    });
    await fc.assert(property, tries(120));
    expect((await client.call("GET", "/v1/health")).status).toBe(200);
  },
  patienceMs,
);
