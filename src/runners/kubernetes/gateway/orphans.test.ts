import { expect, test } from "vitest";
import { silentLogger } from "../../../lib/log/logger.ts";
import { ApiRefusal } from "../client/api-refusal.ts";
import type { ApiRequest, ClusterApi } from "../client/cluster-api.ts";
import { Orphans } from "./orphans.ts";

/** The parts of a namespace that matter here. */
function namespace(gateways: string[], pods: [name: string, gateway: string][]) {
  const versions = new Map(gateways.map((gateway) => [gateway, 1]));
  const left = new Map(pods);
  const deleted: unknown[] = [];
  const labels = (gateway: string) => ({ "app.kubernetes.io/managed-by": "codecell", "codecell/gateway": gateway });
  const json = async ({ verb, resource, path, body }: ApiRequest): Promise<unknown> => {
    const name = path.split("/").at(-1) ?? "";
    if (verb === "list" && resource === "leases") {
      const items = [...versions].map(([gateway, version]) => ({
        metadata: {
          name: `codecell-gateway-${gateway}`,
          uid: gateway,
          resourceVersion: String(version),
          labels: labels(gateway),
        },
        spec: { leaseDurationSeconds: 30 },
      }));
      return { items };
    }
    if (verb === "list" && resource === "configmaps")
      return { items: [{ metadata: { name: "s", labels: labels("me") } }] };
    if (verb === "list") {
      return {
        items: [...left].map(([pod, gateway]) => ({
          metadata: { name: pod, uid: `u-${pod}`, resourceVersion: "1", labels: labels(gateway) },
          status: {},
        })),
      };
    }
    if (!left.delete(name) && !versions.delete(name.replace("codecell-gateway-", "")))
      throw new ApiRefusal(404, "NotFound", "gone");
    deleted.push([name, body]);
    return {};
  };
  const api = {
    json,
    path: (resource: string, name = "") => `/${resource}/${name}`,
    explain: (error: unknown) => error,
  };
  const renew = (gateway: string) => versions.set(gateway, (versions.get(gateway) ?? 0) + 1);
  return { api: api as unknown as ClusterApi, deleted, renew };
}

test("pods of a gateway whose lease is not renewed are deleted by their uid, and then its lease", async () => {
  const { api, deleted, renew } = namespace(
    ["me", "dead", "alive"],
    [
      ["p1", "me"],
      ["p2", "dead"],
      ["p3", "alive"],
    ],
  );
  let now = 0;
  const orphans = new Orphans(api, "me", silentLogger, () => now);
  await orphans.look();
  expect(deleted).toEqual([]);
  now = 31_000;
  renew("alive");
  await orphans.look();
  expect(deleted).toEqual([
    ["p2", { preconditions: { uid: "u-p2" } }],
    ["codecell-gateway-dead", { preconditions: { uid: "dead", resourceVersion: "1" } }],
  ]);
});

test("a lease that a look sees for the first time is not expired, whatever the clocks of other machines say", async () => {
  const { api, deleted } = namespace(["me", "other"], [["p", "other"]]);
  await new Orphans(api, "me", silentLogger, () => 1e9).look();
  expect(deleted).toEqual([]);
});

test("pods of a gateway without a lease are deleted", async () => {
  const { api, deleted } = namespace(["me"], [["p", "long-gone"]]);
  await new Orphans(api, "me", silentLogger, () => 0).look();
  expect(deleted).toEqual([["p", { preconditions: { uid: "u-p" } }]]);
});
