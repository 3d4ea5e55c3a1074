import { z } from "zod";

const terminatedSchema = z.object({
  exitCode: z.number().catch(-1),
  reason: z.string().optional(),
  message: z.string().optional(),
});

const containerSchema = z.object({
  imageID: z.string().catch(""),
  state: z
    .object({
      waiting: z.object({ reason: z.string().optional(), message: z.string().optional() }).optional(),
      running: z.object({}).optional(),
      terminated: terminatedSchema.optional(),
    })
    .optional(),
  lastState: z.object({ terminated: terminatedSchema.optional() }).optional(),
});

const addressSchema = z.object({ ip: z.string() });

/** The parts of a pod that decide about a cell. Words in it may come from the cell: its termination message does. */
export const podSchema = z.object({
  metadata: z.object({
    name: z.string(),
    uid: z.string(),
    resourceVersion: z.string(),
    labels: z.record(z.string(), z.string()).catch({}),
    deletionTimestamp: z.string().nullish(),
    annotations: z.record(z.string(), z.string()).optional().catch(undefined),
  }),
  spec: z.object({ nodeName: z.string().optional() }).catch({}),
  status: z
    .object({
      phase: z.string().optional(),
      reason: z.string().optional(),
      message: z.string().optional(),
      podIP: z.string().optional(),
      podIPs: z.array(addressSchema).nullish(),
      hostIP: z.string().optional(),
      hostIPs: z.array(addressSchema).nullish(), // Kubernetes 1.28
      conditions: z
        .array(
          z.object({
            type: z.string(),
            status: z.string(),
            reason: z.string().optional(),
            message: z.string().optional(),
          }),
        )
        .nullish(),
      containerStatuses: z.array(containerSchema).nullish(),
    })
    .catch({}),
});

/** A pod as the watch last saw it. */
export type WatchedPod = z.output<typeof podSchema>;
