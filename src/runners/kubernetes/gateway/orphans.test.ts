import { expect, test } from "vitest";
import { silentLogger } from "../../../lib/log/logger.ts";
import { ApiRefusal } from "../client/api-refusal.ts";
import type { ApiRequest, ClusterApi } from "../client/cluster-api.ts";
import { Orphans } from "./orphans.ts";

/** The parts of a namespace that matter here. */
function namespace(
  gateways: string[],
  pods: [name: string, gateway: string][],
  {
    onSourcesListed = () => {},
    onSandboxesListed = () => {},
  }: { onSourcesListed?: () => void; onSandboxesListed?: (resource: string) => void } = {},
) {
  const sources = new Map([["s", "me"]]);
  const sandboxes = new Map<string, string>();
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
    if (verb === "list" && resource === "configmaps") {
      onSourcesListed();
      return {
        items: [...sources].map(([source, gateway]) => ({
          metadata: { name: source, uid: `u-${source}`, labels: labels(gateway) },
        })),
      };
    }
    if (verb === "list" && resource.startsWith("sandbox")) {
      await onSandboxesListed(resource);
      return {
        items: [...sandboxes].map(([sandbox, gateway]) => ({
          metadata: { name: sandbox, uid: `u-${sandbox}`, labels: labels(gateway) },
        })),
      };
    }
    if (verb === "list") {
      return {
        items: [...left].map(([pod, gateway]) => ({
          metadata: { name: pod, uid: `u-${pod}`, resourceVersion: "1", labels: labels(gateway) },
          status: {},
        })),
      };
    }
    const isThere = [left, sources, sandboxes].some((objects) => objects.delete(name));
    if (!isThere && !versions.delete(name.replace("codecell-gateway-", "")))
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
  return { api: api as unknown as ClusterApi, deleted, renew, sources, sandboxes };
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
  for (now of [0, 10_000, 20_000, 30_000]) {
    await orphans.look();
    expect(deleted).toEqual([]);
  }
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

test("after an outage of the API server, in which nobody could renew a lease, each gateway has a full lease to show that it lives", async () => {
  const { api, deleted, renew } = namespace(
    ["me", "slow", "dead"],
    [
      ["p1", "slow"],
      ["p2", "dead"],
    ],
  );
  let now = 0;
  const orphans = new Orphans(api, "me", silentLogger, () => now);
  await orphans.look();
  for (now of [90_000, 100_000, 110_000]) await orphans.look();
  renew("slow");
  now = 119_000;
  await orphans.look();
  expect(deleted).toEqual([]);
  now = 121_000;
  await orphans.look();
  expect(deleted).toEqual([
    ["p2", { preconditions: { uid: "u-p2" } }],
    ["codecell-gateway-dead", { preconditions: { uid: "dead", resourceVersion: "1" } }],
  ]);
});

test("a gateway that failed to renew its own lease does not judge others by the time in which it failed", async () => {
  const { api, deleted } = namespace(["me", "other"], [["p", "other"]]);
  let now = 0;
  const orphans = new Orphans(api, "me", silentLogger, () => now);
  for (now of [0, 10_000, 20_000]) await orphans.look();
  orphans.lookAnew();
  for (now of [31_000, 41_000, 51_000, 60_000]) await orphans.look();
  expect(deleted).toEqual([]);
  now = 62_000;
  await orphans.look();
  expect(deleted).toContainEqual(["p", { preconditions: { uid: "u-p" } }]);
});

test("sources of a gateway that started during a look stay, and those of a dead one are deleted by their uid", async () => {
  const { api, deleted, renew, sources } = namespace(["me"], [], {
    onSourcesListed: () => {
      renew("new");
      sources.set("new-sources", "new").set("old-sources", "long-gone");
    },
  });
  await new Orphans(api, "me", silentLogger, () => 0).look();
  expect(deleted).toEqual([["old-sources", { preconditions: { uid: "u-old-sources" } }]]);
});

test("warm pools of a gateway that started during a look stay, also if another gateway's were deleted before", async () => {
  const { api, deleted, renew, sandboxes } = namespace(["me"], [], {
    onSandboxesListed: (resource) => {
      if (resource === "sandboxclaims") sandboxes.set("old-claim", "long-gone");
      else if (renew("new")) sandboxes.set("new-pool", "new");
    },
  });
  await new Orphans(api, "me", silentLogger, () => 0).look();
  expect(deleted).toEqual([["old-claim", { preconditions: { uid: "u-old-claim" } }]]);
});

test("a gateway that may not list the sources of kernels still deletes the pods of dead gateways", async () => {
  const onSourcesListed = () => {
    throw new ApiRefusal(403, "Forbidden", "configmaps is forbidden");
  };
  const { api, deleted } = namespace(["me", "dead"], [["p", "dead"]], { onSourcesListed });
  let now = 0;
  const orphans = new Orphans(api, "me", silentLogger, () => now);
  for (now of [0, 10_000, 20_000, 30_000, 31_000]) await orphans.look();
  expect(deleted).toEqual([["p", { preconditions: { uid: "u-p" } }]]);
});

test("a gateway that is given its full lease again in the middle of a look keeps its pods and its lease", async () => {
  let orphans: Orphans | undefined;
  let now = 0;
  const onSandboxesListed = () => {
    if (now > 30_000) orphans?.lookAnew();
  };
  const { api, deleted } = namespace(["me", "slow"], [["p", "slow"]], { onSandboxesListed });
  orphans = new Orphans(api, "me", silentLogger, () => now);
  for (now of [0, 10_000, 20_000, 30_000, 31_000]) await orphans.look();
  expect(deleted).toEqual([]);
});
