import { z } from "zod";
import type { ClusterCheck, ClusterQuestions } from "./cluster-check.ts";

const selector = { labelSelector: "app.kubernetes.io/managed-by=codecell" };
const gatewayLabel = "codecell/gateway";
const labels = z.record(z.string(), z.string()).catch({});

const leases = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), labels }),
      spec: z.object({ renewTime: z.string().nullish(), leaseDurationSeconds: z.number().nullish() }).catch({}),
    }),
  ),
});
const pods = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), labels }),
      status: z.object({ phase: z.string().optional() }).catch({}),
    }),
  ),
});

/** Which gateways are alive by their leases, and which pods belong to none of them. */
export async function gatewayChecks(api: ClusterQuestions, nowMs: number): Promise<ClusterCheck[]> {
  const namespace = api.namespace;
  const ask = { verb: "list", query: selector } as const;
  const leasePath = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  const [held, found] = await Promise.all([
    api.json({ ...ask, resource: "leases", path: leasePath }),
    api.json({ ...ask, resource: "pods", path: `/api/v1/namespaces/${namespace}/pods` }),
  ]);
  const all = leases.parse(held).items.map((lease) => ({
    id: lease.metadata.labels[gatewayLabel] ?? lease.metadata.name.replace(/^codecell-gateway-/, ""),
    isAlive: isAlive(lease.spec, nowMs),
  }));
  const alive = all.filter((gateway) => gateway.isAlive).map(({ id }) => id);
  const owned = pods.parse(found).items;
  const orphans = owned.filter(({ metadata }) => !alive.includes(metadata.labels[gatewayLabel] ?? ""));
  return [
    gatewaysFinding(alive, all.length - alive.length, owned.length - orphans.length),
    orphansFinding(
      orphans.map(({ metadata }) => metadata.name),
      namespace,
      alive.length,
    ),
  ];
}

function isAlive({ renewTime, leaseDurationSeconds }: z.output<typeof leases>["items"][number]["spec"], nowMs: number) {
  const renewedMs = Date.parse(renewTime ?? "");
  return renewedMs + (leaseDurationSeconds ?? 0) * 1000 > nowMs;
}

function gatewaysFinding(alive: readonly string[], expired: number, pods: number): ClusterCheck {
  const old = expired === 0 ? "" : `; ${expired} expired ${expired === 1 ? "lease" : "leases"}`;
  const finding = alive.length === 0 ? `none is running${old}` : `${alive.length} alive with ${pods} pods${old}`;
  return { name: "gateways", state: "ok", finding, facts: { alive, expired, pods } };
}

function orphansFinding(names: readonly string[], namespace: string, gateways: number): ClusterCheck {
  const facts = { pods: names };
  if (names.length === 0)
    return { name: "left behind", state: "ok", finding: "no pod without a living gateway", facts };
  const shown = `${names.slice(0, 3).join(", ")}${names.length > 3 ? " …" : ""}`;
  const own = `kubectl -n ${namespace} delete pod -l ${selector.labelSelector}`;
  const fix =
    gateways > 0 ? "a running gateway removes them within a minute" : `start a gateway, or remove them: \`${own}\``;
  return {
    name: "left behind",
    state: "warning",
    finding: `${names.length} pods without a living gateway: ${shown}`,
    fix,
    facts,
  };
}
