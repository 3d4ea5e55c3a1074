import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FakeRunner } from "../../../test/fakes/fake-runner.ts";
import { type Answer, type TestClient, TestService } from "../../../test/support/http-service.ts";

let service: TestService;
let alice: TestClient;
let bob: TestClient;
let started = 0;
beforeAll(async () => {
  const runner = new FakeRunner({
    program: (run) => {
      run.print("stdout", `${run.code} ${++started}`);
      return {};
    },
  });
  service = await TestService.open({ runners: [runner] });
  [alice, bob] = [await service.client("alice"), await service.client("bob")];
  for (const client of [alice, bob]) for (const id of ["s", "t"]) await client.session(id);
});
afterAll(() => service?.[Symbol.asyncDispose]());

const start = (client: TestClient, key: string, body: object = { code: "x" }, session = "s"): Promise<Answer> =>
  client.call("POST", `/v1/sessions/${session}/runs`, body, { "idempotency-key": key });

describe("an Idempotency-Key", () => {
  test("of another tenant starts a run of its own, and shows nothing of the other one", async () => {
    const [hers, his] = [await start(alice, "the-same-key"), await start(bob, "the-same-key")];
    expect(his.json.run_id).not.toBe(hers.json.run_id);
    expect(his.json.stdout).not.toBe(hers.json.stdout);
    expect((await start(bob, "the-same-key", { code: "other" })).json.error.code).toBe("usage");
  });

  test("is refused with another session, body or option, and runs nothing", async () => {
    await start(alice, "one-request", { code: "x", args: ["1"] });
    const before = started;
    for (const [body, session] of [
      [{ code: "x", args: ["1"] }, "t"],
      [{ code: "x ", args: ["1"] }, "s"],
      [{ code: "x", args: ["2"] }, "s"],
      [{ code: "x", args: ["1"], stdin: "" }, "s"],
    ] as const) {
      const { status, json } = await start(alice, "one-request", body, session);
      expect([status, json.error.message]).toEqual([400, "this Idempotency-Key was used with another request"]);
    }
    expect(started).toBe(before);
  });

  test("starts one run for many equal requests at once", async () => {
    const before = started;
    const answers = await Promise.all(Array.from({ length: 20 }, () => start(alice, "at-the-same-time")));
    expect(new Set(answers.map(({ status, json }) => `${status} ${json.run_id}`)).size).toBe(1);
    expect(started).toBe(before + 1);
  });

  test("has 8 to 255 visible ASCII characters, and is sent once", async () => {
    const before = started;
    for (const wrong of ["", "seven77", "k".repeat(256), "with space", "tab\there1", "caf\u00e9-key1"])
      expect([wrong, (await start(alice, wrong)).status]).toEqual([wrong, 400]);
    const twice = new Headers({ ...alice.headers, "content-type": "application/json" });
    for (const key of ["first-of-two", "second-of-two"]) twice.append("idempotency-key", key);
    const url = `${service.listener.url}/v1/sessions/s/runs`;
    expect((await fetch(url, { method: "POST", body: '{"code":"x"}', headers: twice })).status).toBe(400);
    expect(started).toBe(before);
    expect((await start(alice, "k".repeat(255))).status).toBe(200);
    expect((await start(alice, "__proto__")).status).toBe(200);
  });

  test("runs nothing again in a new session with the id of the one that was closed since", async () => {
    await alice.session("short-lived");
    const first = await start(alice, "closed-since", { code: "x" }, "short-lived");
    await alice.call("DELETE", "/v1/sessions/short-lived?forget=true");
    expect((await start(alice, "closed-since", { code: "x" }, "short-lived")).json.error.code).toBe("session_unknown");
    await alice.session("short-lived");
    const before = started;
    const again = await start(alice, "closed-since", { code: "x" }, "short-lived");
    expect(again.json).toMatchObject({ run_id: first.json.run_id, stdout: first.json.stdout });
    expect(started).toBe(before);
  });
});
