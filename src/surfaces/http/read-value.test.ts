import { afterEach, expect, test } from "vitest";
import { type FakeRun, FakeRunner } from "../../../test/fakes/fake-runner.ts";
import { type TestClient, TestService } from "../../../test/support/http-service.ts";

/** `wait` runs until it is interrupted. The expression `blocked` has a value when the test calls `unblock`. */
let unblock = () => {};
const evaluated: string[] = [];
async function program(run: FakeRun) {
  if (run.code === "wait") await run.interrupted;
  return {};
}
async function value(expression: string, { timeoutMs }: { timeoutMs: number }) {
  evaluated.push(expression);
  if (expression === "blocked") {
    await new Promise<void>((resolve) => {
      unblock = resolve;
    });
  }
  return timeoutMs;
}

let service: TestService | undefined;
async function open(runsPerToken = 16): Promise<TestClient> {
  evaluated.length = 0;
  const runner = new FakeRunner({ program, value });
  service = await TestService.open({
    runners: [runner],
    policy: { proc: { timeout: "30s" } },
    limits: { runsPerToken },
  });
  const client = await service.client("a");
  for (const id of ["s", "other"]) await client.session(id);
  return client;
}
afterEach(async () => {
  unblock();
  await service?.[Symbol.asyncDispose]();
  service = undefined;
});
const read = (client: TestClient, expression: string, more: object = {}, session = "s") =>
  client.call("POST", `/v1/sessions/${session}/values`, { expression, ...more });

test("an expression gets no more time than the policy gives a run", async () => {
  const client = await open();
  expect((await read(client, "x")).json).toEqual({ value: 30_000 });
  expect((await read(client, "x", { timeout: 1 })).json).toEqual({ value: 1_000 });
  expect((await read(client, "x", { timeout: 86_400 })).json).toEqual({ value: 30_000 });
});

test("an expression counts as one of the token's runs while it is evaluated", async () => {
  const client = await open(1);
  const blocked = read(client, "blocked");
  await expect.poll(() => evaluated).toEqual(["blocked"]);
  expect(await read(client, "x", {}, "other")).toMatchObject({ status: 429, json: { error: { code: "run_limit" } } });
  expect((await client.run("other", "print")).json.error.code).toBe("run_limit");
  unblock();
  expect((await blocked).status).toBe(200);
  expect((await read(client, "x", {}, "other")).status).toBe(200);
});

test("an expression waits for the session's run, and is dropped if its caller leaves before", async () => {
  const client = await open(1);
  const { run_id } = (await client.run("s", "wait", { wait: 0 })).json;
  const leaving = new AbortController();
  const left = client.fetch("/v1/sessions/s/values", {
    ...{ method: "POST", body: '{"expression":"left"}', signal: leaving.signal },
    headers: { "content-type": "application/json" },
  });
  const waiting = read(client, "stayed");
  await expect.poll(() => service?.service.metricsText()).toMatch(/^codecell_http_requests_in_flight 2$/m);
  leaving.abort();
  await expect(left).rejects.toThrow("abort");
  await expect.poll(() => service?.service.metricsText()).toMatch(/^codecell_http_requests_in_flight 1$/m);
  await client.call("POST", `/v1/sessions/s/runs/${run_id}/cancel`);
  expect((await waiting).json).toEqual({ value: 30_000 });
  expect(evaluated).toEqual(["stayed"]);
});
