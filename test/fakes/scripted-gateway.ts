import { Budget, type BudgetOptions } from "../../src/llm/budget/budget.ts";
import type { LmCallEvent } from "../../src/llm/calls/call-event.ts";
import { type CallOptions, type GatewayOptions, LmGateway } from "../../src/llm/calls/gateway.ts";
import type { LmRequest } from "../../src/llm/client.ts";
import { type ClientScript, scriptedLmClient } from "./scripted-lm-client.ts";

/** The price of the model `m`. */
export const price = { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 };

/** A request to the model `m`. */
export const ask = (text: string, more: Partial<LmRequest> = {}): LmRequest => ({
  ...{ model: "m", messages: [{ role: "user", text }], maxTokens: 100, ...more },
});

const noWaiting = { random: () => 0.5, sleep: async () => {} };

/** The real gateway over a FAKE client that plays a script. Retries do not wait. */
export function setUp(script: ClientScript, options: Partial<GatewayOptions & BudgetOptions> = {}) {
  const client = scriptedLmClient(script);
  const events: LmCallEvent[] = [];
  const { caps = {}, finalReserve = {}, ...rest } = options;
  const gateway = new LmGateway({
    ...{ clientFor: () => client, prices: { m: price }, timer: noWaiting, onCall: (event) => void events.push(event) },
    ...rest,
  });
  const budget = new Budget({ caps, finalReserve });
  const call = { budget, signal: new AbortController().signal, purpose: "sub", parent: "run-1" } satisfies CallOptions;
  return { client, gateway, budget, events, call };
}
