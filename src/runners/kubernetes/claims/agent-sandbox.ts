import { z } from "zod";
import type { cellPod } from "../pod/cell-pod.ts";
import { sandboxApi } from "./sandbox-api.ts";

const apiVersion = `${sandboxApi.group}/${sandboxApi.version}`;

/** How long the cluster keeps a claim whose pod has ended, if no gateway removes it. */
const finishedSeconds = 60;

export type CellPod = ReturnType<typeof cellPod>;
type Labels = Readonly<Record<string, string>>;

/** Pure: what the pods of a pool are like. The controller may add neither a network policy, nor variables, nor volumes, nor a service. */
export function sandboxTemplate(name: string, labels: Labels, { metadata, spec }: CellPod) {
  return {
    ...{ apiVersion, kind: "SandboxTemplate", metadata: { name, labels } },
    spec: {
      podTemplate: { metadata: { labels: metadata.labels, annotations: metadata.annotations }, spec },
      service: false,
      networkPolicyManagement: "Unmanaged", // the managed one opens the internet
      envVarsInjectionPolicy: "Disallowed",
      volumeClaimTemplatesPolicy: "Disallowed",
    },
  };
}

/** Pure: how many pods of a template wait. Both have one name. */
export function sandboxWarmPool(name: string, labels: Labels, replicas: number) {
  return {
    ...{ apiVersion, kind: "SandboxWarmPool", metadata: { name, labels } },
    spec: { replicas, sandboxTemplateRef: { name }, updateStrategy: { type: "Recreate" } },
  };
}

/** Pure: a pod of a pool for one cell, until `endMs` at the latest. */
export function sandboxClaim(name: string, labels: Labels, order: { pool: string; cell: string; endMs: number }) {
  return {
    ...{ apiVersion, kind: "SandboxClaim" },
    metadata: { name, labels, annotations: { "codecell/cell": order.cell } },
    spec: {
      warmPoolRef: { name: order.pool },
      lifecycle: {
        shutdownTime: new Date(order.endMs).toISOString().replace(/\.\d+Z$/, "Z"),
        shutdownPolicy: "Delete",
        ttlSecondsAfterFinished: finishedSeconds,
      },
    },
  };
}

/** The parts of a claim that decide about a cell. */
export const claimSchema = z.object({
  metadata: z.object({ name: z.string(), uid: z.string(), resourceVersion: z.string() }),
  status: z
    .object({
      conditions: z
        .array(
          z.object({
            type: z.string(),
            status: z.string().catch(""),
            reason: z.string().catch(""),
            message: z.string().catch(""),
          }),
        )
        .nullish(),
      /** the pod has the same name */
      sandbox: z.object({ name: z.string().optional() }).nullish(),
    })
    .catch({}),
});

export type SandboxClaim = z.output<typeof claimSchema>;
