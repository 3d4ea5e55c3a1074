import { describe, expect, test } from "vitest";
import { silentLogger } from "../../../lib/log/logger.ts";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import { pooledLink } from "../channel/pod-channel.ts";
import type { ApiRequest } from "../client/cluster-api.ts";
import type { GatewayPods } from "../gateway/gateway-pods.ts";
import { cellPod } from "../pod/cell-pod.ts";
import type { StartedPod } from "../pod/started-pod.ts";
import { pooledUser } from "./user-namespaces.ts";
import { WarmClaims } from "./warm-claims.ts";

const pod = cellPod(parsePolicy({}), {
  ...{ name: "", gateway: "g1", policyHash: "abc", image: "python:3.12", python: "/usr/bin/python3" },
  ...{ kernel: "codecell-kernel-1", arch: "amd64", user: pooledUser, isPooled: true, link: pooledLink },
  network: { by: "policy", withoutRuntimeFilter: false },
  ...{ hasOwnKernel: false, sizesMemoryFiles: true },
  settings: { runtimeClass: undefined, nodeSelector: {}, pullPolicy: undefined, requests: { cpu: 0.1, memory: 0.25 } },
});
const pooled = { pod, replicas: 1, imageId: "sha256:1" };
const sandboxLabel = { "agents.x-k8s.io/sandbox-name-hash": "1234abcd" };
const started = { name: "pool-1-abcde", uid: "u1" } as StartedPod;

/** Claims in a cluster with these policies, in which the pod has this uid. It records what was created. */
function claims(policies: readonly object[], uid = "u1", created: ApiRequest[] = []) {
  const metadata = { ...pod.metadata, uid, labels: { ...pod.metadata.labels, ...sandboxLabel } };
  const api = {
    path: (resource: string) => `/${resource}`,
    explain: (error: unknown) => error,
    async json(request: ApiRequest) {
      if (request.verb === "create") created.push(request);
      return { items: request.resource === "pods" ? [{ metadata, spec: pod.spec }] : policies };
    },
  };
  const pods = { gateway: "g1", api } as unknown as GatewayPods;
  return new WarmClaims(async () => pods, silentLogger);
}

const opening = {
  metadata: { name: "router" },
  spec: {
    podSelector: { matchExpressions: [{ key: "agents.x-k8s.io/sandbox-name-hash", operator: "Exists" }] },
    ...{ policyTypes: ["Egress"], egress: [{}] },
  },
};

describe("the check of a pod from a warm pool", () => {
  test("names NetworkPolicies that open it by a label of agent-sandbox, where policies close cells", async () => {
    await expect(claims([opening]).check(pooled, started, true)).rejects.toMatchObject({
      ...{ code: "cell_start_failed", message: expect.stringMatching(/open the network .*: router$/) },
    });
    await expect(claims([opening]).check(pooled, started, false)).resolves.toBeUndefined();
    await expect(claims([]).check(pooled, started, true)).resolves.toBeUndefined();
  });

  test("fails for another pod that has the name by now", async () => {
    await expect(claims([], "u2").check(pooled, started, false)).rejects.toThrow("was deleted");
  });
});

test("a pool has a template of the same name, in which the controller may add nothing", async () => {
  const created: ApiRequest[] = [];
  const name = await claims([], "u1", created).keep(pooled);
  expect(created.map(({ resource }) => resource)).toEqual(["sandboxtemplates", "sandboxwarmpools"]);
  const [template, pool] = created.map(({ body }) => body as { metadata: object; spec: object });
  expect(template).toMatchObject({
    metadata: { name, labels: { "codecell/gateway": "g1", "codecell/role": "pool" } },
    spec: {
      podTemplate: { spec: { hostUsers: false, automountServiceAccountToken: false } },
      ...{ service: false, networkPolicyManagement: "Unmanaged", envVarsInjectionPolicy: "Disallowed" },
    },
  });
  expect(pool?.spec).toMatchObject({ replicas: 1, sandboxTemplateRef: { name } });
});

test("a pool is made once, and another image, size or policy has another one", async () => {
  const created: ApiRequest[] = [];
  const own = claims([], "u1", created);
  const names = await Promise.all([
    own.keep(pooled),
    own.keep(structuredClone(pooled)),
    own.keep({ ...pooled, imageId: "sha256:2" }),
    own.keep({ ...pooled, replicas: 2 }),
  ]);
  expect(new Set(names).size).toBe(3);
  expect(created).toHaveLength(6);
});
