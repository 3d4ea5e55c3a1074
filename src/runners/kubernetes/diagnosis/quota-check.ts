import { z } from "zod";
import type { ClusterCheck, ClusterQuestions } from "./cluster-check.ts";
import { quantity } from "./quantity.ts";

const amounts = z.record(z.string(), z.union([z.string(), z.number()]));
const quotas = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string() }),
      spec: z.object({ hard: amounts.optional() }).catch({}),
      status: z.object({ hard: amounts.optional(), used: amounts.optional() }).optional(),
    }),
  ),
});

/** What one cell takes of a quota. */
export interface CellResources {
  readonly limits: Readonly<Record<string, string>>;
  readonly requests: Readonly<Record<string, string>>;
}

/** How many more cells the quotas of the namespace leave room for. The nodes may have less. */
export async function quotaCheck(api: ClusterQuestions, cell: CellResources): Promise<ClusterCheck> {
  const path = `/api/v1/namespaces/${api.namespace}/resourcequotas`;
  const { items } = quotas.parse(await api.json({ verb: "list", resource: "resourcequotas", path }));
  return quotaFinding(items, cell);
}

function quotaFinding(items: z.output<typeof quotas>["items"], cell: CellResources): ClusterCheck {
  if (items.length === 0) {
    const fix = "add a ResourceQuota, as deploy/manifests does, so that cells cannot take every node";
    return { name: "quota", state: "warning", finding: "the namespace has none: the nodes are the only limit", fix };
  }
  const room = items.flatMap(({ metadata, spec, status: { hard = spec.hard ?? {}, used = {} } = {} }) =>
    Object.entries(hard).flatMap(([key, limit]) => {
      const each = perCell(key, cell);
      if (each === undefined || each === 0) return [];
      const left = Math.max(0, quantity(limit) - quantity(used[key] ?? 0));
      return [{ quota: metadata.name, key, cells: Math.floor(left / each + 1e-9) }];
    }),
  );
  const [tightest] = room.sort((a, b) => a.cells - b.cells);
  if (tightest === undefined) return { name: "quota", state: "ok", finding: "does not limit cells" };
  const { cells, key, quota } = tightest;
  const facts = { more_cells: cells, limited_by: key };
  const finding = `room for ${cells} more ${cells === 1 ? "cell" : "cells"} of this policy; ${key} of ${quota} is the limit`;
  if (cells > 0) return { name: "quota", state: "ok", finding, facts };
  return {
    name: "quota",
    state: "missing",
    finding,
    fix: `close sessions, or raise ${key} in the ResourceQuota ${quota}`,
    facts,
  };
}

/** Pure: what a cell counts against an entry of a quota; undefined: nothing that cells have. */
function perCell(key: string, { limits, requests }: CellResources): number | undefined {
  if (key === "pods" || key === "count/pods") return 1;
  const [kind, name] = key.startsWith("limits.") ? [limits, key.slice(7)] : [requests, key.replace(/^requests\./, "")];
  const value = kind[name];
  return value === undefined ? undefined : quantity(value);
}
