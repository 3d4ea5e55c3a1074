import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { processRunner } from "../../src/runners/process/runner.ts";
import { type TestClient, TestService } from "../support/http-service.ts";
import { skipsProcess } from "../support/process-cells.ts";

describe.skipIf(skipsProcess)("persistent sessions over HTTP", () => {
  let service: TestService;
  let client: TestClient;
  let operator: TestClient;
  beforeAll(async () => {
    const policy = { session: { persist: true } } as const;
    service = await TestService.open({ runners: [processRunner()], policy, audit: true });
    client = await service.client("alice", { scopes: ["run", "audit"] });
    operator = await service.client("operator", { scopes: ["admin"] });
  });
  afterAll(() => service?.[Symbol.asyncDispose]());

  const post = async (path: string) => (await client.call("POST", `/v1/sessions/${path}`)).json;

  test("are saved and restored on request, and name what is missing", async () => {
    await client.session("kept");
    await client.run("kept", "x = 41\nlock = __import__('threading').Lock()");
    const saved = { after_run: 1, variables: ["x"], skipped: [{ name: "lock", reason: expect.any(String) }] };
    expect(await post("kept/save")).toMatchObject(saved);
    expect((await client.call("DELETE", "/v1/sessions/kept")).status).toBe(204);
    expect((await client.call("GET", "/v1/sessions/kept")).json.state).toBe("saved");
    expect(await post("kept/restore")).toEqual({
      ...{ session_id: "kept", runner: "process", after_run: 1, variables: ["x"], failed: [], problem: null },
      skipped: [{ name: "lock", reason: expect.any(String) }],
    });
    expect((await client.call("GET", "/v1/sessions/kept")).json.state).toBe("live");
    expect((await client.run("kept", "x + 1")).json.value).toBe("42");
    expect((await client.call("GET", "/v1/sessions/kept/history?limit=1")).json.history).toMatchObject([
      { run: 2, code: "x + 1", status: "ok", language: "python", ended_at: expect.stringMatching(/Z$/) },
    ]);
    expect((await client.call("POST", "/v1/sessions/kept/reset")).status).toBe(204);
    expect((await client.run("kept", "x")).json.error.type).toBe("NameError");
  });

  test("return a receipt with every run", async () => {
    await client.session("receipt");
    const { run_id, policy_hash } = (await client.run("receipt", "1")).json;
    const { json } = await client.call("GET", `/v1/sessions/receipt/runs/${run_id}/receipt`);
    expect(json).toMatchObject({ runner: "process", policy_hash });
    expect(json.rules).toContainEqual(expect.objectContaining({ rule: "proc.memory", by: expect.any(String) }));
    const slow = await client.run("receipt", "import time; time.sleep(30)", { wait: 0 });
    const path = `/v1/sessions/receipt/runs/${slow.json.run_id}`;
    expect((await client.call("GET", `${path}/receipt`)).status).toBe(409);
    await client.call("POST", `${path}/cancel?wait=20`);
  });

  test("record every event type under a name that includes the tenant", async () => {
    await client.session("told");
    await client.run("told", "open('a', 'w').write('x')");
    const file = "/v1/sessions/told/files/b";
    await (await client.fetch(file, { method: "PUT", body: "b" })).text();
    await (await client.fetch(file)).text();
    await client.call("POST", "/v1/sessions/told/checkpoints", { name: "one" });
    await client.call("POST", "/v1/sessions/told/checkpoints/one/rollback");
    await client.call("POST", "/v1/sessions/told/fork", { session_id: "forked" });
    await post("told/reset");
    await post("told/save");
    for (const id of ["told", "forked"]) await client.call("DELETE", `/v1/sessions/${id}`);
    await post("told/restore");
    const kinds = async (who: TestClient, session: string) => {
      const { json } = await who.call("GET", `/v1/audit?session=${session}`);
      return json.entries.map(({ type }: { type: string }) => type);
    };
    await expect.poll(() => kinds(client, "told")).toContain("session.restored");
    const mine = await kinds(client, "told");
    const session = ["opened", "checkpoint", "rollback", "reset", "closed", "restored"].map(
      (kind) => `session.${kind}`,
    );
    const files = ["file.uploaded", "file.downloaded"];
    for (const kind of [...session, ...files, "run.started", "run.ended"]) expect(mine).toContain(kind);
    expect((await client.call("GET", "/v1/audit?session=forked&type=session.opened")).json.entries).toMatchObject([
      { origin: "fork", from: "told" },
    ]);
    // under a bare name, the events of two tenants' sessions would mix
    const { entries } = (await operator.call("GET", "/v1/audit?limit=1000")).json as {
      entries: { session?: string }[];
    };
    const names = entries.flatMap((entry) => entry.session ?? []);
    expect(names.filter((name) => !/^ns-[0-9a-f]{12}\./.test(name))).toEqual([]);
  });
});

describe.skipIf(skipsProcess)("sessions over HTTP that do not persist", () => {
  test("cannot be saved, because nobody could restore them", async () => {
    await using service = await TestService.open({ runners: [processRunner()] });
    const client = await service.client("alice");
    await client.session("s");
    const { status, json } = await client.call("POST", "/v1/sessions/s/save");
    expect([status, json.error.code]).toEqual([501, "not_supported"]);
    expect((await client.call("POST", "/v1/sessions/s/restore")).json).toMatchObject({ after_run: null });
    expect((await client.call("GET", "/v1/sessions/s/history")).json).toEqual({ history: [] });
  });

  test("have a history with outputs as long as they live, and other tenants do not see it", async () => {
    await using service = await TestService.open({ runners: [processRunner()] });
    const client = await service.client("alice");
    await client.session("s");
    await client.run("s", "x = 1");
    await client.run("s", "print(x)\ndisplay({'text/html': '<b>'}, raw=True)\nx");
    const { history } = (await client.call("GET", "/v1/sessions/s/history?outputs=true")).json;
    const nothing = { display: null, mime_type: null, data_base64: null };
    expect(history).toMatchObject([
      { run: 1, outputs: { events: [], value: null, error: null, left_out_bytes: 0 } },
      {
        run: 2,
        outputs: {
          events: [
            { type: "stdout", text: "1\n", ...nothing },
            { type: "display", text: null, display: 1, mime_type: "text/html", data_base64: "PGI+" },
          ],
          value: "1",
        },
      },
    ]);
    const plain = (await client.call("GET", "/v1/sessions/s/history?limit=1")).json.history;
    expect(plain).toEqual([expect.not.objectContaining({ outputs: expect.anything() })]);
    const other = await service.client("bob");
    expect((await other.call("GET", "/v1/sessions/s/history?outputs=true")).status).toBe(404);
  });
});
