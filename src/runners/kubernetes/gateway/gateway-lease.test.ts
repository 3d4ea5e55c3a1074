import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { silentLogger } from "../../../lib/log/logger.ts";
import { ApiRefusal } from "../client/api-refusal.ts";
import type { ApiRequest, ClusterApi } from "../client/cluster-api.ts";
import { HeldLease } from "./gateway-lease.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** One lease, whose version each change raises. */
function leases() {
  const state = { version: 1, renewals: 0, isAway: false };
  const lease = () => ({
    metadata: {
      ...{ name: "codecell-gateway-me", uid: "u", resourceVersion: String(state.version) },
      labels: { "codecell/gateway": "me" },
    },
    spec: { leaseDurationSeconds: 30 },
  });
  const json = async ({ verb, body }: ApiRequest): Promise<unknown> => {
    if (state.isAway) throw new Error("connect ECONNREFUSED");
    if (verb === "list") return { items: [lease()] };
    if (verb === "update") {
      const { resourceVersion } = (body as { metadata: { resourceVersion: string } }).metadata;
      if (resourceVersion !== String(state.version)) throw new ApiRefusal(409, "Conflict", "it has been modified");
      state.version++;
      state.renewals++;
    }
    return lease();
  };
  const api = { json, path: () => "", explain: (error: unknown) => error } as unknown as ClusterApi;
  return { api, state };
}

test("a lease that was changed by somebody else, or by a renewal whose answer was lost, is renewed all the same", async () => {
  const { api, state } = leases();
  await using _lease = await HeldLease.take(api, "me", silentLogger, { onRenewed() {}, onMissed() {} });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(state.renewals).toBe(1);
  state.version++;
  await vi.advanceTimersByTimeAsync(20_000);
  expect(state.renewals).toBe(3);
});

test("each renewal that the API server did not answer is told, and each that it did", async () => {
  const { api, state } = leases();
  const told: string[] = [];
  const listener = { onRenewed: () => void told.push("renewed"), onMissed: () => void told.push("missed") };
  await using _lease = await HeldLease.take(api, "me", silentLogger, listener);
  for (const isAway of [false, true, false]) {
    state.isAway = isAway;
    await vi.advanceTimersByTimeAsync(10_000);
  }
  expect(told).toEqual(["renewed", "missed", "renewed"]);
});
