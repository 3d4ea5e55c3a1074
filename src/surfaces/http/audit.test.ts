import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeRunner } from "../../../test/fakes/fake-runner.ts";
import { eventsOf, type TestClient, TestService } from "../../../test/support/http-service.ts";

let service: TestService;
let alice: TestClient;
let bob: TestClient;
let operator: TestClient;
beforeEach(async () => {
  const runner = new FakeRunner({ program: async () => ({}) });
  service = await TestService.open({ runners: [runner], audit: true });
  alice = await service.client("alice", { scopes: ["run", "audit"] });
  bob = await service.client("bob", { scopes: ["run", "audit"] });
  operator = await service.client("operator", { scopes: ["admin"] });
});
afterEach(() => service[Symbol.asyncDispose]());

interface Entry {
  readonly type: string;
  readonly session?: string;
  readonly run?: number;
}
const kinds = (entries: readonly Entry[]) =>
  entries.map(({ type, run }) => (run === undefined ? type : `${type} ${run}`));

/** Runs code in a session and waits until the audit has the end of the last run. */
async function work(client: TestClient, session: string, runs: number): Promise<void> {
  await client.session(session);
  for (let at = 0; at < runs; at++) await client.run(session, "1");
  await expect.poll(() => list(client, `session=${session}&type=run.ended`), { interval: 10 }).toHaveLength(runs);
}

async function list(client: TestClient, query = ""): Promise<Entry[]> {
  return (await client.call("GET", `/v1/audit?${query}`)).json.entries;
}

describe("the audit over HTTP", () => {
  test("shows a tenant its own sessions under its own ids, and nothing of other tenants", async () => {
    await work(alice, "work", 2);
    await work(bob, "work", 1);
    const { text, json } = await alice.call("GET", "/v1/audit");
    expect(kinds(json.entries)).toEqual([
      "session.opened",
      ...["run.started 1", "run.ended 1"],
      ...["run.started 2", "run.ended 2"],
    ]);
    expect(new Set(json.entries.map(({ session }: Entry) => session))).toEqual(new Set(["work"]));
    // no namespaces and no line numbers, whose gaps would reveal the activity of other tenants
    expect(text).not.toMatch(/ns-|"seq"|"chain"/);
    expect(kinds(await list(bob))).toEqual(["session.opened", "run.started 1", "run.ended 1"]);
    // a tenant cannot use the operator's id of another tenant's session
    const [foreign] = (await list(operator, "type=session.opened")).filter(({ session }) => session?.startsWith("ns-"));
    expect(await list(bob, `session=${foreign?.session}`)).toEqual([]);
  });

  test("shows everything to an admin, and nothing to a token without the scope", async () => {
    await work(alice, "work", 1);
    const all = await list(operator);
    expect(all[0]).toMatchObject({ type: "audit.opened", seq: 1, chain: expect.stringMatching(/^c-/) });
    expect(all.find(({ type }) => type === "run.ended")?.session).toMatch(/^ns-[0-9a-f]{12}\.work$/);
    const runs = await service.client("runs");
    expect((await runs.call("GET", "/v1/audit")).status).toBe(403);
    expect((await alice.call("GET", "/v1/audit/verify")).status).toBe(403);
  });

  test("can be filtered and read page by page, from the start or after a page", async () => {
    await work(alice, "one", 3);
    await work(alice, "two", 1);
    expect(kinds(await list(alice, "session=two&type=run"))).toEqual(["run.started 1", "run.ended 1"]);
    expect(kinds(await list(alice, "type=run.ended,session.opened&limit=2"))).toEqual([
      "session.opened",
      "run.ended 1",
    ]);
    expect(await list(alice, "until=2020-01-01T00:00:00Z")).toEqual([]);
    const seen: Entry[] = [];
    let page = (await alice.call("GET", "/v1/audit?from=start&limit=3")).json;
    for (; page.more; page = (await alice.call("GET", `/v1/audit?limit=3&after=${page.next}`)).json) {
      expect(page.entries.length).toBe(3);
      seen.push(...page.entries);
    }
    seen.push(...page.entries);
    expect(kinds(seen)).toEqual(kinds(await list(alice)));
    await work(alice, "three", 0);
    await expect.poll(() => list(alice, `after=${page.next}`), { interval: 10 }).toMatchObject([{ session: "three" }]);
  });

  test("rejects forged cursors and invalid filters", async () => {
    await work(alice, "work", 1);
    const { next } = (await alice.call("GET", "/v1/audit")).json;
    for (const query of [
      `after=${next}A`,
      "after=AAAA",
      "type=run.endet",
      "since=yesterday",
      "limit=0",
      "order=desc",
    ]) {
      expect([query, (await alice.call("GET", `/v1/audit?${query}`)).status]).toEqual([query, 400]);
    }
  });

  test("streams each new event once, and ends when the service shuts down", async () => {
    await work(alice, "work", 1);
    const stream = await alice.fetch("/v1/audit?type=run", { headers: { accept: "text/event-stream" } });
    const events = eventsOf(stream);
    const next = async () => (await events.next()).value?.data as Entry;
    expect(kinds([await next(), await next()])).toEqual(["run.started 1", "run.ended 1"]);
    await bob.session("theirs");
    await bob.run("theirs", "1");
    await alice.run("work", "1");
    expect(kinds([await next(), await next()])).toEqual(["run.started 2", "run.ended 2"]);
    await service.service.drain();
    expect((await events.next()).done).toBe(true);
  });

  test("can be verified, which finds a changed line", async () => {
    await work(alice, "work", 1);
    expect((await operator.call("GET", "/v1/audit/verify")).json).toMatchObject({ sound: true, problems: [] });
    const audit = join(service.stateDir, "audit");
    const [chain = ""] = await readdir(audit);
    const file = join(audit, chain, "00000001.jsonl");
    await writeFile(file, (await readFile(file, "utf8")).replace('"run":1', '"run":7'));
    const { json } = await operator.call("GET", "/v1/audit/verify");
    expect(json).toMatchObject({ sound: false, problems: [{ chain, message: expect.stringContaining("changed") }] });
    // a tenant learns that its events are affected, and nothing of a chain that others write to
    const own = await alice.call("GET", "/v1/audit/verify?session=work");
    expect(own.json).toEqual({
      ...{ sound: false, chains: [] },
      problems: [{ chain: "shared", file: null, line: null, message: expect.stringContaining("ask the operator") }],
    });
  });

  test("a tenant verifies the chains of its own sessions, and not those of others", async () => {
    await using separate = await TestService.open({
      runners: [new FakeRunner({ program: async () => ({}) })],
      ...{ audit: true, hasTenantChains: true },
    });
    const [carol, dave] = [
      await separate.client("carol", { scopes: ["run", "audit"] }),
      await separate.client("dave", { scopes: ["run", "audit"] }),
    ];
    await work(carol, "work", 1);
    await work(dave, "work", 1);
    const audit = join(separate.stateDir, "audit");
    const key = separate.manager.aliveIds()[0] ?? "";
    const chain = (await readdir(audit)).find((name) => name.endsWith(key.slice(0, key.indexOf(".")))) ?? "";
    const file = join(audit, chain, "00000001.jsonl");
    await writeFile(file, (await readFile(file, "utf8")).replace('"run":1', '"run":7'));
    const verify = async (client: TestClient) => (await client.call("GET", "/v1/audit/verify?session=work")).json;
    expect(await verify(carol)).toMatchObject({ sound: false, chains: [{ chain }], problems: [{ chain }] });
    const others = await verify(dave);
    expect(others).toMatchObject({ sound: true, problems: [] });
    expect(others.chains.map((one: { chain: string }) => one.chain)).not.toContain(chain);
    expect(others.chains).toHaveLength(1);
  });
});

test("an HTTP service without an audit returns not_supported for it", async () => {
  await using silent = await TestService.open({ runners: [new FakeRunner({ program: async () => ({}) })] });
  const admin = await silent.client("admin", { scopes: ["admin"] });
  const { status, json } = await admin.call("GET", "/v1/audit");
  expect([status, json.error.code]).toEqual([501, "not_supported"]);
});
