import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { processRunner } from "../../src/runners/process/runner.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import { type TestClient, TestService } from "../support/http-service.ts";
import { skipsProcess } from "../support/process-cells.ts";

/** What a page that shows sessions needs of the HTTP API. */
describe("the HTTP API of a page, with the wasm runner", () => {
  let service: TestService;
  let alice: TestClient;
  let bob: TestClient;
  let admin: TestClient;
  beforeAll(async () => {
    service = await TestService.open({ runners: [wasmRunner()] });
    alice = await service.client("alice");
    bob = await service.client("bob");
    admin = await service.client("root", { scopes: ["admin"] });
    await alice.session("s");
    await alice.run("s", "rows = [1, 2]\nprint('secret of alice')\nsum(rows)");
  });
  afterAll(() => service?.[Symbol.asyncDispose]());

  test("measures a real cell, its limits and its runs", async () => {
    const { json } = await alice.call("GET", "/v1/sessions/s/usage");
    expect(json.now.memory_bytes === null || json.now.memory_bytes > 1_000_000).toBe(true);
    expect(json.limits.memory_bytes).toBeGreaterThan(1_000_000);
    expect(json.runs).toMatchObject([{ run: 1, status: "ok", sent_bytes: 0 }]);
    expect(json.samples.length).toBeGreaterThan(0);
  });

  test("exports a session as a notebook, a script and JSON", async () => {
    const notebook = await alice.fetch("/v1/sessions/s/export");
    expect(notebook.headers.get("content-disposition")).toContain('attachment; filename="s.ipynb"');
    expect(notebook.headers.get("content-type")).toBe("application/x-ipynb+json");
    expect(notebook.headers.get("x-content-type-options")).toBe("nosniff");
    expect(JSON.parse(await notebook.text())).toMatchObject({ nbformat: 4, cells: [{ execution_count: 1 }] });
    expect(await (await alice.fetch("/v1/sessions/s/export?format=py&limit=1")).text()).toContain("#> secret of alice");
    const json = await alice.fetch("/v1/sessions/s/export?format=json");
    expect(await json.json()).toMatchObject({ session_id: "s", history: [{ run: 1, outputs: { value: "3" } }] });
    expect((await alice.call("GET", "/v1/sessions/s/export?format=exe")).status).toBe(400);
  });

  test("completes code", async () => {
    const { json } = await alice.call("POST", "/v1/sessions/s/complete", { code: "sum(row", cursor: 7 });
    expect(json).toMatchObject({ matches: [{ text: "rows", kind: "value" }], start: 4, end: 7 });
    expect((await alice.call("POST", "/v1/sessions/s/complete", { code: "x", cursor: 2 })).status).toBe(400);
  });

  test("gives a running program the lines that are typed", async () => {
    const code = "first = input()\nprint('got', first)\nfirst + input()";
    const { json: run } = await alice.run("s", code, { stdin_stream: true });
    const path = `/v1/sessions/s/runs/${run.run_id}`;
    expect((await alice.call("POST", `${path}/stdin`, { text: "a\n" })).json).toMatchObject({ open: true });
    expect((await bob.call("POST", `${path}/stdin`, { text: "x\n" })).status).toBe(404);
    expect((await alice.call("POST", `${path}/stdin`, { text: "b\n", end: true })).json).toMatchObject({ open: false });
    expect((await alice.call("GET", `${path}?wait=20`)).json).toMatchObject({ value: "'ab'", stdout: "got a\n" });
    const late = await alice.call("POST", `${path}/stdin`, { text: "c\n" });
    expect(late.json).toEqual({ size: 4, waiting: 0, open: false });
    const plain = await alice.run("s", "1");
    expect((await alice.call("POST", `/v1/sessions/s/runs/${plain.json.run_id}/stdin`, { text: "x" })).status).toBe(
      400,
    );
  });

  test("says that a runner without copies cannot undo", async () => {
    const answer = await alice.call("POST", "/v1/sessions/s/undo", {});
    expect(answer).toMatchObject({ status: 501, json: { error: { code: "not_supported" } } });
    expect(answer.json.error.message).toContain("wasm");
    expect((await alice.call("GET", "/v1/sessions/s/lineage")).json).toMatchObject({
      ...{ nodes: [{ id: "n1", kind: "start" }], truncated: false },
    });
  });

  test("shows nothing of one tenant to another, and everything to an admin", async () => {
    const answers = await Promise.all([
      ...["/v1/sessions", "/v1/usage", "/v1/me"].map((path) => bob.call("GET", path)),
      ...["", "/usage", "/export", "/lineage", "/history"].map((part) => bob.call("GET", `/v1/sessions/s${part}`)),
      bob.call("POST", "/v1/sessions/s/undo", {}),
      bob.call("POST", "/v1/sessions/s/complete", { code: "r" }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 404, 404, 404, 404, 404, 404, 404]);
    expect(answers.map(({ text }) => text).join()).not.toContain("secret of alice");
    const [session] = (await admin.call("GET", "/v1/sessions?namespaces=all")).json.sessions;
    expect(session).toMatchObject({ session_id: "s", tenant: "alice" });
    const shown = await admin.call("GET", `/v1/sessions/s/history?outputs=true&namespace=${session.namespace}`);
    expect(shown.text).toContain("secret of alice");
  });
});

describe.skipIf(skipsProcess)("the HTTP API of a page, with the process runner", () => {
  let service: TestService;
  let client: TestClient;
  beforeAll(async () => {
    const policy = { session: { undo: 2, persist: true } } as const;
    service = await TestService.open({ runners: [processRunner()], policy });
    client = await service.client("alice");
  });
  afterAll(() => service?.[Symbol.asyncDispose]());

  const undo = (session: string) => client.call("POST", `/v1/sessions/${session}/undo`, {});
  const kinds = async (session: string) => {
    const { json } = await client.call("GET", `/v1/sessions/${session}/lineage`);
    return json.nodes.map((node: Record<string, unknown>) => {
      return [node.id, node.parent, node.kind, node.name ?? node.session_id, node.run].join(" ");
    });
  };

  test("undoes the last runs, and says what to do when there is none", async () => {
    await client.session("u");
    expect((await undo("u")).json.error).toMatchObject({ code: "nothing_to_undo" });
    for (const n of [1, 2, 3]) await client.run("u", `x = ${n}`);
    await client.run("u", "import os; os._exit(1)");
    expect(await undo("u")).toMatchObject({ status: 200, json: { run: 4, left: 1 } });
    expect((await client.call("GET", "/v1/sessions/u/variables/x")).json.value).toBe(3);
    await client.call("PUT", "/v1/sessions/u/variables/x", { value: 30 });
    expect((await undo("u")).json).toEqual({ run: 3, left: 0 });
    expect((await client.call("GET", "/v1/sessions/u/variables/x")).json.value).toBe(2);
    const nothing = await undo("u");
    expect([nothing.status, nothing.headers.get("retry-after")]).toEqual([409, null]);
    expect(nothing.json.error.hint).toContain("session.undo");
    expect((await client.call("GET", "/v1/sessions/u/checkpoints")).json.checkpoints).toEqual([]);
  });

  test("shows checkpoints, rollbacks and forks as a tree, which a persistent session keeps", async () => {
    await client.session("t");
    await client.run("t", "x = 1");
    await client.call("POST", "/v1/sessions/t/checkpoints", { name: "a" });
    await client.run("t", "x = 2");
    await client.call("POST", "/v1/sessions/t/fork", { session_id: "t-fork" });
    await undo("t");
    await client.call("POST", "/v1/sessions/t/checkpoints/a/rollback", {});
    const tree = [
      "n1  start  0",
      "n2 n1 checkpoint a 1",
      "n3 n2 fork t-fork 2",
      "n4 n2 rollback  1",
      "n5 n2 rollback a 1",
    ];
    expect(await kinds("t")).toEqual(tree);
    expect(await kinds("t-fork")).toEqual(["n1  start t 2"]);
    await client.call("DELETE", "/v1/sessions/t-fork?forget=true");
    await client.call("DELETE", "/v1/sessions/t");
    expect((await client.call("GET", "/v1/sessions/t")).json).toMatchObject({ state: "saved", policy_hash: null });
    expect(await kinds("t")).toEqual(tree);
    expect((await client.run("t", "x")).json.value).toBe("1");
    expect(await kinds("t")).toEqual([...tree, "n6 n5 restored  2"]);
    const { json } = await client.call("GET", "/v1/sessions/t/lineage");
    expect(json.nodes[1]).toMatchObject({ state: "gone", can_roll_back: false });
  });
});
