import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeRunner } from "../../../test/fakes/fake-runner.ts";
import { type TestClient, TestService } from "../../../test/support/http-service.ts";
import { splitNamespace } from "./other-tenant.ts";
import { routes } from "./routes.ts";

const usage = { memoryBytes: 5_000, peakMemoryBytes: 6_000, cpuMs: 7, oomKills: 0 };

let here: TestService;
let [alice, bob, admin] = [] as unknown as [TestClient, TestClient, TestClient];
beforeEach(async () => {
  const program = (run: { code: string; print(stream: "stdout", text: string): void }) => {
    run.print("stdout", run.code);
    return {};
  };
  here = await TestService.open({ runners: [new FakeRunner({ program, usage: async () => usage })] });
  alice = await here.client("alice");
  bob = await here.client("bob");
  admin = await here.client("root", { scopes: ["admin"] });
});
afterEach(() => here[Symbol.asyncDispose]());

async function namespaceOf(client: TestClient): Promise<string> {
  return (await client.call("GET", "/v1/me")).json.namespace;
}

describe("an admin", () => {
  test("acts on the sessions of another token, even of one that was not used yet", async () => {
    const namespace = (await here.tokens.all()).find(({ name }) => name === "bob")?.namespace;
    const made = await admin.call("POST", `/v1/sessions?namespace=${namespace}`, { session_id: "work" });
    expect(made).toMatchObject({ status: 201, json: { session_id: "work" } });
    expect((await admin.call("GET", "/v1/sessions")).json.sessions).toEqual([]);
    const ran = await admin.call("POST", `/v1/sessions/work/runs?receipt=true&namespace=${namespace}`, { code: "hi" });
    expect(ran).toMatchObject({ status: 200, json: { stdout: "hi" } });
    expect(ran.json.receipt).toBeTruthy();
    expect((await bob.call("GET", "/v1/sessions/work")).json).toMatchObject({ runs: 1 });
    expect((await bob.call("GET", `/v1/sessions/work/runs/${ran.json.run_id}`)).status).toBe(200);
    expect((await alice.call("GET", "/v1/sessions/work")).status).toBe(404);
  });

  test("lists the sessions of all tokens with their names", async () => {
    await alice.session("one");
    await bob.session("one");
    const { json } = await admin.call("GET", "/v1/sessions?namespaces=all");
    const listed = json.sessions.map((one: Record<string, string>) => [one.session_id, one.tenant, one.namespace]);
    expect(listed.sort()).toEqual([
      ["one", "alice", await namespaceOf(alice)],
      ["one", "bob", await namespaceOf(bob)],
    ]);
    expect(json.sessions[0].policy_hash).toMatch(/^[0-9a-f]{64}$/);
    await here.tokens.remove("bob");
    const left = await admin.call("GET", "/v1/sessions?namespaces=all");
    expect(left.json.sessions).toMatchObject([{ tenant: "alice" }]);
  });

  test("gets 404 for a namespace that no token has, and 400 for two of them", async () => {
    for (const one of ["ns-123456789abc", "", "..%2f", "work"]) {
      const answer = await admin.call("GET", `/v1/sessions?namespace=${one}`);
      expect(answer).toMatchObject({ status: 404, json: { error: { code: "not_found" } } });
    }
    const own = await namespaceOf(admin);
    expect((await admin.call("GET", `/v1/sessions?namespace=${own}`)).status).toBe(200);
    expect((await admin.call("GET", `/v1/sessions?namespace=${own}&namespace=${own}`)).status).toBe(400);
    expect((await admin.call("GET", `/v1/me?namespace=${own}`)).status).toBe(400);
    expect((await admin.call("GET", `/v1/sessions?%6eamespace=${own}`)).status).toBe(400);
  });
});

describe("a token without admin", () => {
  test("is refused on every path that could name another tenant", async () => {
    await bob.session("work");
    const namespace = await namespaceOf(bob);
    const reader = await here.client("all-but-admin", { scopes: ["run", "read", "audit", "metrics"] });
    const paths = routes.filter(({ path, scope }) => path.startsWith("/v1/sessions") && scope !== "none");
    expect(paths.length).toBeGreaterThan(35);
    for (const { method, path } of paths) {
      const target = path.replace("{session}", "work").replace(/\{\w+(?:\.\.\.)?\}/g, "x");
      const answer = await reader.call(method, `${target}?namespace=${namespace}`, method === "GET" ? undefined : {});
      expect([path, answer.status, answer.json.error.code]).toEqual([path, 403, "forbidden"]);
    }
    for (const path of ["/v1/sessions", "/v1/usage"]) {
      expect((await reader.call("GET", `${path}?namespaces=all`)).status).toBe(403);
    }
  });

  test("sees only its own usage", async () => {
    await alice.session("mine");
    await bob.session("theirs");
    await bob.run("theirs", "x");
    const { json } = await alice.call("GET", "/v1/usage");
    expect(json.sessions).toMatchObject([{ session_id: "mine", samples: [{ memory_bytes: 5_000 }] }]);
    expect(json.sessions[0].namespace).toBeUndefined();
    expect((await alice.call("GET", "/v1/sessions/theirs/usage")).status).toBe(404);
    const all = (await admin.call("GET", "/v1/usage?namespaces=all")).json.sessions;
    const found = all.map((one: Record<string, string>) => [one.session_id, one.namespace]).sort();
    expect(found).toEqual([
      ["mine", await namespaceOf(alice)],
      ["theirs", await namespaceOf(bob)],
    ]);
    const shown = await bob.call("GET", "/v1/sessions/theirs/usage");
    expect(shown.json).toMatchObject({
      limits: { processes: expect.any(Number), sent_bytes: null },
      now: { memory_bytes: 5_000, peak_memory_bytes: 6_000, oom_kills: 0 },
      runs: [{ run: 1, status: "ok", sent_bytes: 0 }],
    });
    expect(shown.json.samples.length).toBeGreaterThan(0);
  });

  test("is told who it is", async () => {
    const soon = Date.now() + 60_000;
    const reader = await here.client("reader", { scopes: ["read"], expiresMs: soon });
    expect((await reader.call("GET", "/v1/me")).json).toMatchObject({
      ...{ token: "reader", scopes: ["read"], expires_at: new Date(soon).toISOString() },
      service: { audit: false, network: false, models: [], persist: false },
    });
  });
});

test("the name of the tenant is taken out of the query, and everything else stays", () => {
  const route = { path: "/v1/sessions/{session}/files", scope: "read" } as const;
  expect(splitNamespace("prefix=a%2Fb&namespace=ns-1&limit=5", route)).toEqual({
    ...{ search: "prefix=a%2Fb&limit=5", namespace: "ns-1" },
  });
  expect(splitNamespace("namespaces=all", route)).toEqual({ search: "namespaces=all" });
  expect(splitNamespace("namespace=x", { path: "/v1/sessionsx", scope: "read" })).toEqual({ search: "namespace=x" });
});

test("what an admin watches of another tenant ends with the admin's token", async () => {
  await using here = await TestService.open({ runners: [new FakeRunner({ program: () => new Promise(() => {}) })] });
  const alice = await here.client("alice");
  const admin = await here.client("root", { scopes: ["admin"] });
  const session = await alice.session("work");
  const { json } = await alice.run(session, "endless", { wait: 0 });
  const run = `/v1/sessions/work/runs/${json.run_id}`;
  const namespace = await namespaceOf(alice);
  const watching = await admin.fetch(`${run}/events?namespace=${namespace}`);
  const waiting = admin.fetch(`${run}?wait=60&namespace=${namespace}`).catch(() => "cut off");
  await here.tokens.remove("root");
  expect((await admin.call("GET", "/v1/me")).status).toBe(401);
  await expect(watching.text()).rejects.toThrow();
  expect(await waiting).toBe("cut off");
  expect((await alice.call("GET", run)).json.status).toBe("running");
});
