import { expect, test } from "vitest";
import { type ModelCallEvent, ModelLog } from "./model-log.ts";

const call = (session: string): ModelCallEvent => ({
  ...{ type: "model.call", session, by: "run", purpose: "sub", model: "m", inputTokens: 1, outputTokens: 2 },
  ...{ cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0, costUsd: 0.5, durationMs: 1, status: "ok" },
});

test("a session has its last calls, and the cost of all", () => {
  const log = new ModelLog({ calls: 2 });
  for (let count = 0; count < 3; count++) log.add(call("a"), count);
  expect(log.of("a").calls.map(({ atMs }) => atMs)).toEqual([1, 2]);
  expect(log.of("a").spend).toEqual({ calls: 3, inputTokens: 3, outputTokens: 6, costUsd: 1.5 });
});

test("a tenant with many sessions takes no place of another one", () => {
  const log = new ModelLog({ sessions: 4 });
  log.add(call("ns-aaaaaaaaaaaa.first"), 0);
  for (let count = 0; count < 20; count++) log.add(call(`ns-bbbbbbbbbbbb.${count}`), count);
  expect(log.of("ns-aaaaaaaaaaaa.first").spend.calls).toBe(1);
  expect(log.of("ns-bbbbbbbbbbbb.19").spend.calls).toBe(1);
  expect(log.of("ns-bbbbbbbbbbbb.16").spend.calls).toBe(0);
});
