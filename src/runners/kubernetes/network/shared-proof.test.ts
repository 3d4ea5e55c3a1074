import { expect, test } from "vitest";
import { silentLogger } from "../../../lib/log/logger.ts";
import { ApiRefusal } from "../client/api-refusal.ts";
import type { ApiRequest, ClusterApi } from "../client/cluster-api.ts";
import type { GatewayPods } from "../gateway/gateway-pods.ts";
import { kubernetesSettings } from "../settings.ts";
import { SharedProof } from "./shared-proof.ts";

interface Stored {
  metadata: { name: string; creationTimestamp?: string };
  data?: Record<string, string> | undefined;
}

/** An API server with ConfigMaps and a clock of its own, and the gateways that talk to it. */
function cluster({ refuses = 0 } = {}) {
  const stored = new Map<string, Stored>();
  const server = { nowMs: Date.parse("2026-01-01T12:00:00Z"), stored };
  const send = ({ verb, path, body }: ApiRequest): unknown => {
    if (refuses > 0) throw new ApiRefusal(refuses, "", "refused");
    if (path === "/version") return {};
    if (verb === "create") {
      const { metadata, data } = body as Stored;
      if (stored.has(metadata.name)) throw new ApiRefusal(409, "AlreadyExists", "exists");
      const creationTimestamp = new Date(server.nowMs).toISOString();
      stored.set(metadata.name, { metadata: { ...metadata, creationTimestamp }, data });
      return {};
    }
    if (verb === "list") return { items: [...stored.values()] };
    const name = path.split("/").at(-1) ?? "";
    const found = stored.get(name);
    if (found === undefined) throw new ApiRefusal(404, "NotFound", "not found");
    if (verb === "delete") stored.delete(name);
    return found;
  };
  const api = {
    path: (...parts: string[]) => `/${parts.join("/")}`,
    explain: (error: unknown) => error,
    json: async (request: ApiRequest) => send(request),
    dated: async (request: ApiRequest) => ({ answer: send(request), serverMs: server.nowMs }),
  } as unknown as ClusterApi;
  const proof = (env: NodeJS.ProcessEnv = {}, policy = "uid/1") => {
    const pods = { api, gateway: "g1", logger: silentLogger, settings: kubernetesSettings(env) };
    return new SharedProof(pods as unknown as GatewayPods, policy);
  };
  return { server, proof };
}

test("a proof of one gateway is found by the others, with its age by the server's clock, and a newer one replaces it", async () => {
  const { server, proof } = cluster();
  expect(await proof().ageMs()).toBeUndefined();
  await proof().share();
  server.nowMs += 90_000;
  expect(await proof().ageMs()).toBe(90_000);
  await proof().share();
  expect(await proof().ageMs()).toBe(0);
});

test("a proof about other images, classes or nodes, or about another NetworkPolicy, is none, and stays for those who need it", async () => {
  const { proof } = cluster();
  await proof().share();
  const others = [
    proof({ CODECELL_KUBERNETES_IMAGE: "other" }),
    proof({ CODECELL_KUBERNETES_RUNTIME_CLASS: "gvisor" }),
    proof({ CODECELL_KUBERNETES_NODE_SELECTOR: "pool=cells" }),
    proof({}, "uid/2"),
  ];
  for (const other of others) expect(await other.ageMs()).toBeUndefined();
  await others[0]?.share();
  expect(await proof().ageMs()).toBe(0);
});

test("a proof that was restored from a backup or copied from another cluster is none", async () => {
  const { server, proof } = cluster();
  await proof().share();
  server.nowMs += 30 * 60_000;
  for (const { metadata } of server.stored.values()) metadata.creationTimestamp = new Date(server.nowMs).toISOString();
  expect(await proof().ageMs()).toBeUndefined();
});

test.each<[string, (stored: Stored) => void]>([
  ["about other labels", ({ data }) => Object.assign(data ?? {}, { subject: "other" })],
  ["without content", (stored) => Object.assign(stored, { data: undefined })],
  ["without a date", (stored) => Object.assign(stored, { metadata: { creationTimestamp: "soon" } })],
  ["from the future", ({ data }) => Object.assign(data ?? {}, { at: "2027-01-01T12:00:00Z" })],
])("a proof %s is none", async (_, spoil) => {
  const { server, proof } = cluster();
  await proof().share();
  for (const stored of server.stored.values()) spoil(stored);
  expect(await proof().ageMs()).toBeUndefined();
});

test("nothing is proved by a server that does not say what time it is", async () => {
  const { server, proof } = cluster();
  server.nowMs = Number.NaN;
  await proof().share();
  expect(server.stored.size).toBe(0);
});

test("whoever sees the opposite withdraws all proofs, also those about other images and nodes", async () => {
  const { proof } = cluster();
  const other = proof({ CODECELL_KUBERNETES_IMAGE: "other" });
  await proof().share();
  await other.share();
  await proof().withdrawAll();
  await proof().withdrawAll();
  expect([await proof().ageMs(), await other.ageMs()]).toEqual([undefined, undefined]);
});

test("a proof that cannot be read, written or withdrawn is none, and no error", async () => {
  const { proof } = cluster({ refuses: 403 });
  await proof().share();
  await proof().withdrawAll();
  expect(await proof().ageMs()).toBeUndefined();
});
