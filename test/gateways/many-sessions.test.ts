import { getEventListeners } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FakeRunner } from "../fakes/fake-runner.ts";
import { type TestGateway, TestGateways } from "../support/gateways.ts";
import { noPostgres, type PostgresServer, startPostgres } from "../support/postgres.ts";

const many = 100;

describe.skipIf(noPostgres !== undefined)("a gateway with many sessions", () => {
  let server: PostgresServer;
  let gateways: TestGateways;
  let own: TestGateway;
  let other: TestGateway;
  let running = 0;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let allRun = () => {};
  const allRunning = new Promise<void>((resolve) => {
    allRun = resolve;
  });

  beforeAll(async () => {
    server = await startPostgres();
    const program = async () => {
      if (++running === many) allRun();
      await released;
      return {};
    };
    const policy = { session: { limit: many } };
    const limits = { runs: many, runsPerToken: many, requestsPerToken: 4 * many };
    const runners = () => [new FakeRunner({ program })];
    gateways = await TestGateways.open({ url: await server.newDatabase(), policy, runners, limits });
    [own, other] = [await gateways.start(), await gateways.start()];
  });
  afterAll(async () => {
    await gateways?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  test("runs them all at once, at both gateways, without a warning and without listeners that stay", async () => {
    const warnings: string[] = [];
    const warned = ({ stack, message }: Error) => void warnings.push(stack ?? message);
    process.on("warning", warned);
    const token = await gateways.token("tenant", { sessions: many });
    const clients = [own.client(token), other.client(token)];
    const ids = Array.from({ length: many }, (_, at) => `s${at}`);
    for (const id of ids) await clients[0]?.session(id);
    const signals = [own.gateways.lease.lost, own.service.draining];
    const listeners = () => signals.map((signal) => getEventListeners(signal, "abort").length);
    const before = listeners();
    const watching = new AbortController();
    for (const [at, id] of ids.slice(0, 40).entries()) {
      const path = `/v1/events?session=${id}`;
      expect((await clients[at % 2]?.fetch(path, { signal: watching.signal }))?.status).toBe(200);
    }
    const runs = ids.map((id, at) => clients[at % 2]?.run(id, "x"));
    await allRunning;
    release();
    expect(new Set((await Promise.all(runs)).map((run) => run?.status))).toEqual(new Set([200]));
    watching.abort();
    process.off("warning", warned);
    expect(warnings).toEqual([]);
    await expect.poll(() => listeners().every((count, at) => count <= (before[at] ?? 0))).toBe(true);
  });
});
