import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type TestGateway, TestGateways } from "../support/gateways.ts";
import type { Answer, TestClient } from "../support/http-service.ts";
import { noPostgres, type PostgresServer, startPostgres } from "../support/postgres.ts";
import { skipsProcess } from "../support/process-cells.ts";

describe.skipIf(noPostgres !== undefined || skipsProcess)("an Idempotency-Key and several gateways", () => {
  let server: PostgresServer;
  let url: string;
  let gateways: TestGateways;
  let token: string;
  let first: TestGateway;
  let second: TestGateway;
  let here: TestClient;
  let there: TestClient;

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());
  beforeEach(async () => {
    url = await server.newDatabase();
    gateways = await TestGateways.open({ url, policy: { session: { persist: true } }, leaseMs: 60_000 });
    token = await gateways.token("tenant");
    [first, second] = await Promise.all([gateways.start(), gateways.start()]);
    [here, there] = [first.client(token), second.client(token)];
    await here.session("s");
    await here.run("s", "n = 0");
    await here.call("POST", "/v1/sessions/s/save");
  });
  afterEach(() => gateways?.[Symbol.asyncDispose]());

  const count = (client: TestClient, key: string, more: object = {}): Promise<Answer> =>
    client.call("POST", "/v1/sessions/s/runs", { code: "n += 1; n", ...more }, { "idempotency-key": key });
  /** The first gateway cannot renew its lease any more, which is over at once. */
  const loseFirst = async () => {
    first.isCutOff = true;
    const text = "update codecell.gateways set renewed_until = clock_timestamp() where id = $1";
    await server.query(url, text, [first.id]);
  };

  test("finds the run at the gateway that has the session, whichever is asked", async () => {
    const key = randomUUID();
    const answers = await Promise.all([here, there, here, there].map((client) => count(client, key)));
    expect(new Set(answers.map(({ json }) => `${json.run_id} ${json.value}`)).size).toBe(1);
    expect((await there.run("s", "n")).json.value).toBe("1");
  });

  test("of a gateway that was lost runs nothing at the next one, which says who started it and when", async () => {
    const key = randomUUID();
    expect((await count(here, key)).json.value).toBe("1");
    await loseFirst();
    for (let time = 0; time < 2; time++) {
      const { status, json } = await count(there, key);
      expect([status, json.error.code]).toEqual([404, "run_gone"]);
      expect(json.error.message).toMatch(
        new RegExp(`was started at \\d{4}-.* by gateway ${first.id}, which had the session`),
      );
      expect(json.error.hint).toContain("use a new key");
    }
    expect((await count(there, key, { timeout: 9 })).json.error.message).toContain("used with another request");
    // as it was saved: neither the first run, which is lost, nor a second one
    expect((await there.run("s", "n")).json.value).toBe("0");
    expect((await count(there, randomUUID())).json.value).toBe("1");
  });

  test("of a gateway that gave the session back in an orderly way runs nothing again", async () => {
    const key = randomUUID();
    await count(here, key);
    await first[Symbol.asyncDispose]();
    expect((await count(there, key)).json.error.code).toBe("run_gone");
    expect((await there.run("s", "n")).json.value).toBe("1");
  });

  test("of a session that was deleted runs nothing in a new one with the same id on another gateway", async () => {
    const key = randomUUID();
    await count(here, key);
    await here.call("DELETE", "/v1/sessions/s?forget=true");
    await there.session("s");
    await there.run("s", "n = 0");
    expect((await count(there, key)).json.error.code).toBe("run_gone");
    expect((await there.run("s", "n")).json.value).toBe("0");
  });

  test("is free again if its request was refused", async () => {
    const key = randomUUID();
    const { json: blocking } = await here.run("s", "import time; time.sleep(60)", { wait: 0 });
    expect((await count(there, key)).status).toBe(409);
    await here.call("POST", `/v1/sessions/s/runs/${blocking.run_id}/cancel?wait=20`);
    expect((await count(there, key)).json.value).toBe("1");
  });

  test("runs nothing while it cannot be stored, and runs its code once when it can", async () => {
    const steady = (await gateways.start()).client(token);
    await steady.session("t");
    await steady.run("t", "n = 0");
    const request = [{ code: "n += 1; n" }, { "idempotency-key": randomUUID() }] as const;
    const ask = () => steady.call("POST", "/v1/sessions/t/runs", ...request);
    await server.stop();
    const refused = await ask();
    await server.start();
    expect([refused.status, refused.json.error.code]).toEqual([503, "service_unavailable"]);
    expect(refused.json.error.message).toContain("cannot reach its database");
    const answers = await Promise.all([ask(), ask()]);
    expect(answers.map(({ json }) => json.value)).toEqual(["1", "1"]);
  });

  test("is kept for 15 minutes, and the oldest are removed", async () => {
    const key = randomUUID();
    await count(here, key);
    await server.query(url, "update codecell.run_keys set started_at = started_at - interval '16 minutes'");
    await first[Symbol.asyncDispose]();
    await count(there, randomUUID());
    expect(await server.query(url, "select count(*)::int as kept from codecell.run_keys")).toEqual([{ kept: 1 }]);
    expect((await count(there, key)).json.value).toBe("3");
  });
});
