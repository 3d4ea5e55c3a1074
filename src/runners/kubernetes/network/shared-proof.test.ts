import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { silentLogger } from "../../../lib/log/logger.ts";
import { ApiRefusal } from "../client/api-refusal.ts";
import type { ApiRequest, ClusterApi } from "../client/cluster-api.ts";
import type { GatewayPods } from "../gateway/gateway-pods.ts";
import { sharedProofAgeMs, shareProof } from "./shared-proof.ts";

const made = new Date("2026-01-01T12:00:00Z");
interface Stored {
  metadata: object;
  data?: object | undefined;
}

/** An API server with room for one ConfigMap, and the gateway that talks to it. */
function cluster({ refuses = 0 } = {}) {
  const state: { stored: Stored | undefined } = { stored: undefined };
  const api = {
    path: (...parts: string[]) => `/${parts.join("/")}`,
    explain: (error: unknown) => error,
    async json({ verb, body }: ApiRequest) {
      if (refuses > 0) throw new ApiRefusal(refuses, "", "refused");
      if (verb === "create") {
        const { metadata, data } = body as Stored;
        state.stored = { metadata: { ...metadata, creationTimestamp: made.toISOString() }, data };
        return state.stored;
      }
      if (state.stored === undefined) throw new ApiRefusal(404, "NotFound", "not found");
      const found = state.stored;
      if (verb === "delete") state.stored = undefined;
      return found;
    },
  } as unknown as ClusterApi;
  const pods = { api, gateway: "g1", logger: silentLogger } as unknown as GatewayPods;
  return { state, api, pods };
}

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: made }));
afterEach(() => void vi.useRealTimers());

test("a proof of one gateway is found by the others, with its age, and a newer one replaces it", async () => {
  const { api, pods, state } = cluster();
  expect(await sharedProofAgeMs(api)).toBeUndefined();
  await shareProof(pods);
  vi.setSystemTime(made.getTime() + 90_000);
  expect(await sharedProofAgeMs(api)).toBe(90_000);
  const { stored } = state;
  await shareProof(pods);
  expect(state.stored).not.toBe(stored);
});

test("a proof from the future is new if the clocks differ by a second, and none if they differ by minutes", async () => {
  const { api, pods } = cluster();
  await shareProof(pods);
  vi.setSystemTime(made.getTime() - 1_000);
  expect(await sharedProofAgeMs(api)).toBe(0);
  vi.setSystemTime(made.getTime() - 120_000);
  expect(await sharedProofAgeMs(api)).toBeUndefined();
});

test.each<[string, (stored: Stored) => void]>([
  ["about another policy", (stored) => Object.assign(stored, { data: { policy: "other" } })],
  ["without content", (stored) => Object.assign(stored, { data: undefined })],
  ["without a date", (stored) => Object.assign(stored, { metadata: { creationTimestamp: "soon" } })],
])("a proof %s is none", async (_, spoil) => {
  const { api, pods, state } = cluster();
  await shareProof(pods);
  if (state.stored) spoil(state.stored);
  expect(await sharedProofAgeMs(api)).toBeUndefined();
});

test("a proof that cannot be read or written is none, and no error", async () => {
  const { api, pods } = cluster({ refuses: 403 });
  await shareProof(pods);
  expect(await sharedProofAgeMs(api)).toBeUndefined();
});
