import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestGateway, TestGateways } from "../support/gateways.ts";
import { eventsOf, type TestClient } from "../support/http-service.ts";
import { noPostgres, type PostgresServer, startPostgres } from "../support/postgres.ts";
import { skipsProcess } from "../support/process-cells.ts";

describe.skipIf(noPostgres !== undefined || skipsProcess)("events of several gateways", () => {
  let server: PostgresServer;
  let gateways: TestGateways;
  let first: TestGateway;
  let second: TestGateway;
  let here: TestClient;
  let there: TestClient;

  beforeAll(async () => {
    server = await startPostgres();
    const policy = { session: { persist: true } };
    gateways = await TestGateways.open({ url: await server.newDatabase(), policy });
    [first, second] = await Promise.all([gateways.start(), gateways.start()]);
    const token = await gateways.token("tenant");
    [here, there] = [first.client(token), second.client(token)];
  });
  afterAll(async () => {
    await gateways?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  /** A stream that is open; `until` reads up to an event, `end` to its end. */
  async function follow(client: TestClient, query: string, headers: Record<string, string> = {}) {
    const response = await client.fetch(`/v1/events${query}`, { headers });
    expect(response.status).toBe(200);
    const events = eventsOf(response, { isOfRun: false })[Symbol.asyncIterator]();
    const seen: string[] = [];
    const next = async () => {
      const { value, done } = await events.next();
      if (done) return undefined;
      seen.push(value.event);
      return value;
    };
    return {
      seen,
      async until(type: string, session?: string) {
        for (let one = await next(); one; one = await next()) {
          if (one.event === type && (session === undefined || one.data.session_id === session)) return one;
        }
        throw new Error(`the stream ended without ${type}; it had ${seen.join()}`);
      },
      async end() {
        for (let one = await next(); one; one = await next());
      },
      close: () => events.return?.(undefined),
    };
  }

  test("the stream of one session comes from the gateway that has it, for its tenant and for an admin", async () => {
    await here.session("live");
    const admin = second.client(await gateways.token("admin", { scopes: ["admin"] }));
    const { namespace } = (await here.call("GET", "/v1/me")).json;
    const streams = await Promise.all([
      follow(there, "?session=live"),
      follow(admin, `?session=live&namespace=${namespace}`),
    ]);
    await here.run("live", "1");
    for (const stream of streams) {
      await stream.until("run.ended");
      await stream.close();
    }
    const stranger = second.client(await gateways.token("stranger"));
    const refused = await stranger.call("GET", `/v1/events?session=live&namespace=${namespace}`);
    expect(refused.status).toBe(403);
  });

  test("the stream of all sessions says that another gateway opened or closed one, to its tenant only", async () => {
    const all = await follow(there, "");
    const stranger = await follow(second.client(await gateways.token("other")), "");
    await here.session("listed");
    await all.until("session.moved", "listed");
    await here.call("DELETE", "/v1/sessions/listed");
    await all.until("session.moved", "listed");
    await second.client(await gateways.token("third")).session("x");
    await all.close();
    await stranger.close();
    expect(stranger.seen).not.toContain("session.moved");
  });

  test("the stream of a session that moves to another gateway ends, and goes on there with the next connection", async () => {
    await here.session("moving");
    await here.run("moving", "x = 1");
    await here.call("DELETE", "/v1/sessions/moving"); // it is saved, and nobody has it
    const stream = await follow(here, "?session=moving");
    await there.run("moving", "x"); // as a router would: the other gateway takes it
    await stream.end();
    expect(first.codecell.isOpen(`${(await here.call("GET", "/v1/me")).json.namespace}.moving`)).toBe(false);
    const again = await follow(here, "?session=moving", { "last-event-id": "e000000000000-1" });
    await again.until("gap");
    await there.run("moving", "x + 1");
    await again.until("run.ended");
    await again.close();
  });

  test("the page learns from /v1/me that there are other gateways", async () => {
    expect((await here.call("GET", "/v1/me")).json.service.gateways).toBe(true);
  });
});
