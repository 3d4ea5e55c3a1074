import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../../src/lib/log/logger.ts";
import { ClusterApi } from "../../src/runners/kubernetes/client/cluster-api.ts";
import { openConnection } from "../../src/runners/kubernetes/client/cluster-connection.ts";
import { Orphans } from "../../src/runners/kubernetes/gateway/orphans.ts";
import { kubernetesSettings } from "../../src/runners/kubernetes/settings.ts";
import { skippedWithout } from "../contract/required.ts";
import type { ApiObject } from "../fakes/kubernetes-api/api/api-object.ts";
import type { Fault } from "../fakes/kubernetes-api/api/api-server.ts";
import { findResource, pods, type Resource } from "../fakes/kubernetes-api/api/resource-table.ts";
import { doubleAvailability } from "../fakes/kubernetes-api/availability.ts";
import { KubernetesApiDouble } from "../fakes/kubernetes-api/kubernetes-api-double.ts";

const probe = await doubleAvailability();
const leases = findResource("coordination.k8s.io", "v1", "leases") as Resource;

describe("a gateway that looks for pods of dead ones", skippedWithout("kubernetes", probe), () => {
  let double: KubernetesApiDouble;
  let api: ClusterApi;
  let nowMs = 0;
  let orphans: Orphans;
  beforeEach(async () => {
    double = await KubernetesApiDouble.start({ nodes: [], network: "absent" });
    const { kubeconfig, namespace } = double;
    api = new ClusterApi(await openConnection({ ...kubernetesSettings({}), kubeconfig, namespace }));
    nowMs = 0;
    orphans = new Orphans(api, "own", silentLogger, () => nowMs);
  });
  afterEach(async () => {
    api?.[Symbol.dispose]();
    await double?.[Symbol.asyncDispose]();
  });

  const labels = (gateway: string) => ({ "app.kubernetes.io/managed-by": "codecell", "codecell/gateway": gateway });
  const addPod = (gateway: string, name = `codecell-${gateway}-1`) => {
    const spec = { containers: [{ name: "cell", image: "x" }] };
    const pod = { metadata: { name, labels: labels(gateway) }, spec, status: { phase: "Running" } };
    return double.store.create(pods, double.namespace, pod as unknown as ApiObject);
  };
  const addLease = (gateway: string) => {
    const metadata = { name: `codecell-gateway-${gateway}`, labels: labels(gateway) };
    const lease = { metadata, spec: { holderIdentity: gateway, leaseDurationSeconds: 30 } };
    return double.store.create(leases, double.namespace, lease as unknown as ApiObject);
  };
  const renew = (gateway: string) =>
    double.store.update(leases, double.namespace, `codecell-gateway-${gateway}`, (lease) => {
      (lease.spec as Record<string, unknown>).renewTime = `at ${nowMs}`;
    });
  const names = (resource: Resource) =>
    double.store.list(resource, double.namespace).map(({ metadata }) => metadata.name);

  test("deletes them when the lease was not renewed for its duration, and leaves those of living gateways", async () => {
    for (const gateway of ["own", "dead", "living"]) {
      addLease(gateway);
      addPod(gateway);
    }
    for (nowMs of [0, 10_000, 20_000, 29_000]) {
      await orphans.look();
      expect(names(pods)).toHaveLength(3);
    }
    renew("living");
    nowMs += 2_000;
    await orphans.look();
    expect(names(pods)).toEqual(["codecell-living-1", "codecell-own-1"]);
    expect(names(leases)).toEqual(["codecell-gateway-living", "codecell-gateway-own"]);
  });

  test("deletes those of a gateway without a lease at its first look", async () => {
    addPod("gone");
    const other = { metadata: { name: "other", labels: { app: "other" } }, spec: {}, status: {} };
    double.store.create(pods, double.namespace, other as unknown as ApiObject);
    await orphans.look();
    expect(names(pods)).toEqual(["other"]);
  });

  test("leaves a pod that has taken the name of a dead one meanwhile", async () => {
    const { uid } = addPod("gone").metadata;
    const replace: Fault = ({ verb, resource }) => {
      if (verb !== "delete" || resource !== pods) return;
      double.server.faults.delete(replace);
      double.store.remove(pods, double.namespace, "codecell-gone-1");
      addPod("gone");
    };
    double.server.faults.add(replace);
    await orphans.look();
    expect(names(pods)).toEqual(["codecell-gone-1"]);
    expect(double.store.get(pods, double.namespace, "codecell-gone-1").metadata.uid).not.toBe(uid);
  });
});
