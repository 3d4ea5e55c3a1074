import { expect, test } from "vitest";
import { silentLogger } from "../../../lib/log/logger.ts";
import { ApiRefusal } from "../client/api-refusal.ts";
import type { ApiRequest, ClusterApi } from "../client/cluster-api.ts";
import type { GatewayPods } from "../gateway/gateway-pods.ts";
import { kubernetesSettings } from "../settings.ts";
import { closedPolicy } from "./network-policy.ts";
import { NetworkProofs } from "./network-proofs.ts";
import { SharedProof } from "./shared-proof.ts";

const minute = 60_000;

/** A namespace with the closing policy and, once it is shared, a proof. Probe pods cannot start there: a try is an error. */
function namespace() {
  let stored: { metadata: object; data: object } | undefined;
  const clock = { nowMs: Date.parse("2026-01-01T12:00:00Z") };
  const { metadata, ...policy } = closedPolicy();
  const policies = { items: [{ ...policy, metadata: { ...metadata, uid: "u", generation: 1 } }] };
  const send = ({ verb, path, body }: ApiRequest): unknown => {
    if (path.startsWith("/networkpolicies")) return policies;
    if (verb === "create") {
      const made = body as { metadata: object; data: object };
      stored = { ...made, metadata: { ...made.metadata, creationTimestamp: new Date(clock.nowMs).toISOString() } };
    }
    if (verb === "get" && path !== "/version" && stored === undefined) throw new ApiRefusal(404, "NotFound", "");
    return verb === "get" ? (stored ?? {}) : {};
  };
  const pods = {
    ...{ gateway: "g1", logger: silentLogger, settings: kubernetesSettings({}) },
    newName: () => {
      throw new Error("it is tried");
    },
    api: {
      namespace: "cells",
      path: (...parts: string[]) => `/${parts.join("/")}`,
      explain: (error: unknown) => error,
      json: async (request: ApiRequest) => send(request),
      dated: async (request: ApiRequest) => ({ answer: send(request), serverMs: clock.nowMs }),
    } as unknown as ClusterApi,
  } as unknown as GatewayPods;
  const find = (options?: { mustProve: boolean }) =>
    new NetworkProofs(async () => pods, silentLogger, options).find("python:3");
  return { clock, find, share: () => new SharedProof(pods, "u/1").share() };
}

test("what another process has proved within an hour counts, and is tried again after that", async () => {
  const { clock, find, share } = namespace();
  await expect(find()).rejects.toThrow("it is tried");
  await share();
  clock.nowMs += 59 * minute;
  expect(await find()).toMatchObject({ by: "policy" });
  clock.nowMs += 2 * minute;
  await expect(find()).rejects.toThrow("it is tried");
});

test("somebody who wants a proof of their own gets one, whatever others have proved", async () => {
  const { find, share } = namespace();
  await share();
  await expect(find({ mustProve: true })).rejects.toThrow("it is tried");
});
