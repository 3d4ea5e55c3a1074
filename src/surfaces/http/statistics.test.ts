import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeRunner } from "../../../test/fakes/fake-runner.ts";
import { TestService } from "../../../test/support/http-service.ts";
import { Metrics } from "./metrics.ts";
import { Statistics } from "./statistics.ts";

const pool = { ready: 2, hits: 5, misses: 1 };

test("a sample has what happened since the one before", () => {
  const metrics = new Metrics();
  const told: unknown[] = [];
  const gauges = () => ({ sessions: 3, runs: 1, pool: pool as never });
  using statistics = new Statistics({ metrics, gauges, onSample: (sample) => told.push(sample), now: () => 0 });
  for (let ms = 1; ms <= 100; ms++) statistics.runEnded(ms);
  for (const status of ["ok", "ok", "timeout"]) metrics.runEnded(status);
  metrics.refused();
  metrics.request("GET", "/v1/health", 200, 1);
  statistics.spent(0.5);
  const first = statistics.sample();
  expect(first).toMatchObject({
    ...{ runs: { ok: 2, timeout: 1 }, latency_ms: { p50: 50, p95: 95, p99: 99 }, refused: 1, cost_usd: 0.5 },
    ...{ sessions: 3, running: 1, pool: { ready: 2, hits: 0, misses: 0 }, at: "1970-01-01T00:00:00.000Z" },
  });
  expect(first.requests_per_second).toBeGreaterThan(0);
  expect(statistics.sample()).toMatchObject({
    runs: {},
    latency_ms: null,
    refused: 0,
    cost_usd: 0,
    runs_per_second: 0,
  });
  expect(statistics.list()).toEqual(told);
  for (let index = 0; index < 1_000; index++) statistics.sample();
  expect(statistics.list()).toHaveLength(720);
  expect(metrics.text({ requests: 0, bodyBytes: 0, runs: 0, sessions: 0, tenants: 0, pool: pool as never })).toContain(
    'codecell_runs_total{status="ok"} 2\n',
  );
});

describe("the statistics of a service", () => {
  let service: TestService;
  beforeEach(async () => {
    const runner = new FakeRunner({ program: async () => ({}) });
    service = await TestService.open({ runners: [runner], limits: { requestsPerToken: 1 } });
  });
  afterEach(() => service[Symbol.asyncDispose]());

  test("count the runs of each tenant, and tell a token only about its own", async () => {
    const alice = await service.client("alice", { scopes: ["run", "metrics"] });
    const operator = await service.client("operator", { scopes: ["admin"] });
    await alice.session("work");
    await alice.run("work", "1");
    await alice.run("work", "2");
    service.service.statistics.sample();
    const { json } = await alice.call("GET", "/v1/statistics");
    expect(json.samples).toMatchObject([{ runs: { ok: 2 }, sessions: 1, running: 0 }]);
    const own = { tenant: "alice", sessions: 1, running: 0, runs: 2, refused: 0, cost_usd: 0 };
    expect(json).toMatchObject({ interval_ms: 5_000, tenants: [own] });
    expect((await alice.call("GET", "/v1/statistics?namespaces=all")).status).toBe(403);
    const all = await operator.call("GET", "/v1/statistics?namespaces=all&limit=1");
    expect(all.json.tenants.map(({ tenant }: { tenant: string }) => tenant)).toEqual(["alice", "operator"]);
    const reader = await service.client("reader", { scopes: ["read"] });
    expect((await reader.call("GET", "/v1/statistics")).status).toBe(403);
  });

  test("count what a limit refused, and cost of model calls", async () => {
    const alice = await service.client("alice", { scopes: ["run", "metrics"] });
    await alice.session("work");
    const gone = new AbortController();
    await alice.fetch("/v1/events", { signal: gone.signal });
    expect((await alice.call("GET", "/v1/sessions")).status).toBe(429);
    gone.abort();
    const key = service.manager.aliveIds()[0] ?? "";
    service.manager.audit?.audit.record({
      ...{ type: "model.call", session: key, by: "r", purpose: "sub", model: "m", inputTokens: 1, outputTokens: 1 },
      ...{ cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0, costUsd: 0.25, durationMs: 1, status: "ok" },
    });
    expect(service.service.statistics.sample()).toMatchObject({ refused: 1, cost_usd: 0.25 });
    const own = async () => (await alice.call("GET", "/v1/statistics")).json.tenants?.[0];
    await expect.poll(own).toMatchObject({ refused: expect.any(Number), cost_usd: 0.25 });
  });
});
