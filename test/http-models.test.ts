import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AuditEvent } from "../src/audit/event.ts";
import type { RlmFact } from "../src/rlm/trajectory/event.ts";
import { TrajectoryWriter } from "../src/rlm/trajectory/writer.ts";
import { FakeRunner } from "./fakes/fake-runner.ts";
import { type TestClient, TestService } from "./support/http-service.ts";

const id = "2026-01-02T03-04-05-678Z-0123456789abcdef";
const start: RlmFact = {
  ...{ type: "run_start", run: "r", parent: null, depth: 0, signature: "text -> answer", model: "m", subModel: "s" },
  ...{ limits: {}, inputs: [{ name: "text", type: "str", chars: 3, preview: "abc" }] },
};
const facts: readonly RlmFact[] = [
  start,
  { type: "turn_start", run: "r", turn: 1, of: 5 },
  {
    type: "lm_request",
    run: "r",
    turn: 1,
    call: "1",
    purpose: "root",
    model: "m",
    hash: "0",
    promptChars: 2,
    prompt: "go",
    maxTokens: 9,
  },
  {
    type: "lm_response",
    run: "r",
    turn: 1,
    call: "1",
    status: "ok",
    text: "x".repeat(30_000),
    usd: 0.5,
    cached: false,
    ms: 3,
  },
  { type: "code", run: "r", turn: 1, code: "1 + 1" },
  { type: "exec_result", run: "r", turn: 1, status: "ok", output: "2", outputChars: 1, ms: 1 },
  { type: "sub_start", run: "r", turn: 1, child: "r.1", signature: "q -> a" },
  { ...start, run: "r.1", parent: "r", depth: 1, signature: "q -> a" },
  { type: "finish", run: "r.1", finish: "submitted", turns: 1, outputs: { a: "4" } },
  { type: "finish", run: "r", finish: "submitted", turns: 1, outputs: { answer: "2" } },
];

function modelCall(session: string, outputTokens: number): AuditEvent {
  return {
    ...{ type: "model.call", session, by: "r", purpose: "sub", model: "m", inputTokens: 10, outputTokens },
    ...{ cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0, costUsd: 0.25, source: "model" },
    ...{ durationMs: 1.6, status: "ok" },
  };
}

describe("the models of a session over HTTP", () => {
  let service: TestService;
  let alice: TestClient;
  let bob: TestClient;
  let key: string;
  let directory: string;

  beforeEach(async () => {
    const policy = { llm: { models: ["m"], usd: 2 } };
    service = await TestService.open({
      runners: [new FakeRunner({ program: async () => ({}) })],
      hasState: true,
      policy,
    });
    alice = await service.client("alice");
    bob = await service.client("bob");
    await alice.session("work");
    [key = ""] = service.manager.aliveIds();
    directory = join(service.stateDir, "trajectories", "sessions", key);
    await mkdir(directory, { recursive: true });
    await using writer = await TrajectoryWriter.create(join(directory, `${id}.jsonl`));
    for (const fact of facts) writer.add({ ...fact, at: 1_000 });
  });
  afterEach(() => service[Symbol.asyncDispose]());

  test("lists calls, what they cost and the budget", async () => {
    for (let index = 0; index < 1_001; index++) service.manager.audit?.audit.record(modelCall(key, index));
    const { json } = await alice.call("GET", "/v1/sessions/work/models");
    expect(json.calls).toHaveLength(1_000);
    expect(json.calls[0]).toMatchObject({ output_tokens: 1, cost_usd: 0.25, duration_ms: 2, source: "model", by: "r" });
    expect(json.spend).toMatchObject({
      calls: 1_001,
      input_tokens: 10_010,
      cost_usd: 250.25,
      budget_usd: 2,
      max_calls: 50,
    });
    await bob.session("work");
    expect((await bob.call("GET", "/v1/sessions/work/models")).json).toMatchObject({ calls: [], trajectories: [] });
  });

  test("shows what a sub-agent did, with the agents below it, and cuts long texts", async () => {
    const { json } = await alice.call("GET", "/v1/sessions/work/models");
    const summary = { id, title: "text -> answer", status: "submitted", calls: 1, cost_usd: 0.5, parent: null };
    expect(json.trajectories).toMatchObject([summary]);
    const shown = (await alice.call("GET", `/v1/sessions/work/trajectories/${id}`)).json;
    expect(shown).toMatchObject({ ...summary, truncated: true, agent: { outputs: { answer: "2" } } });
    expect(shown.agent.turns[0]).toMatchObject({ turn: 1, code: "1 + 1", output: "2", agents: [{ title: "q -> a" }] });
    expect(shown.agent.turns[0].replies[0].text).toHaveLength(20_001);
  });

  test("a trajectory of another tenant, and a path instead of an id, are not found", async () => {
    await bob.session("work");
    await writeFile(join(directory, "..", "secret.jsonl"), "{}");
    const paths = [id, "..%2fsecret", `..%2f${key}%2fx`, "secret", `${id}.jsonl`];
    for (const path of paths) {
      expect([path, (await bob.call("GET", `/v1/sessions/work/trajectories/${path}`)).status]).toEqual([path, 404]);
    }
    expect((await alice.call("GET", "/v1/sessions/work/trajectories/..%2fsecret")).status).toBe(404);
  });

  test("calls and trajectories go with their session", async () => {
    service.manager.audit?.audit.record(modelCall(key, 1));
    await alice.call("DELETE", "/v1/sessions/work");
    await alice.session("work");
    const list = async () => (await alice.call("GET", "/v1/sessions/work/models")).json;
    await expect.poll(list).toMatchObject({ calls: [], trajectories: [], spend: { calls: 0 } });
  });
});
