import { createHash } from "node:crypto";
import { z } from "zod";
import { canonicalJson } from "../../../policy/hash.ts";
import { ApiRefusal } from "../client/api-refusal.ts";
import type { ClusterApi } from "../client/cluster-api.ts";
import type { GatewayPods } from "../gateway/gateway-pods.ts";
import { closedLabel, labelsOf } from "../labels.ts";
import { closedPolicy } from "./network-policy.ts";

export const proofName = "codecell-network-proof";
/** Clocks of the API server and of this machine differ by less, or its proofs are not used. */
const clockMs = 60_000;

const proofSchema = z.object({
  metadata: z.object({ creationTimestamp: z.string() }),
  data: z.object({ policy: z.string() }),
});

/**
 * How long ago a gateway of this namespace has proved that the network enforces NetworkPolicies. Whoever can forge the ConfigMap
 * that says so can also replace the kernel's, which cells run.
 */
export async function sharedProofAgeMs(api: ClusterApi): Promise<number | undefined> {
  const request = { verb: "get", resource: "configmaps", path: api.path("configmaps", proofName) } as const;
  const answer = await api.json(request).catch((error: unknown) => {
    if (error instanceof ApiRefusal) return undefined;
    throw api.explain(error, request);
  });
  const { success, data: proof } = proofSchema.safeParse(answer);
  if (!success || proof.data.policy !== policyHash()) return undefined;
  const ageMs = Date.now() - Date.parse(proof.metadata.creationTimestamp);
  return ageMs >= -clockMs ? Math.max(0, ageMs) : undefined;
}

/** Tells the other gateways, and the next one on this machine. The API server's clock says when. */
export async function shareProof({ api, gateway, logger }: GatewayPods): Promise<void> {
  const body = {
    ...{ apiVersion: "v1", kind: "ConfigMap", immutable: true },
    metadata: { name: proofName, labels: labelsOf("proof", gateway) },
    data: { policy: policyHash() },
  };
  try {
    await api
      .json({ verb: "delete", resource: "configmaps", path: api.path("configmaps", proofName) })
      .catch(ignore(404));
    await api.json({ verb: "create", resource: "configmaps", path: api.path("configmaps"), body }).catch(ignore(409));
  } catch (error) {
    logger.warn("other gateways have to prove the network themselves", { error });
  }
}

/** What was proved: this policy closes pods with this label. */
function policyHash(): string {
  const text = canonicalJson({ spec: closedPolicy().spec, labels: closedLabel });
  return createHash("sha256").update(text).digest("hex");
}

function ignore(status: number) {
  return (error: unknown) => {
    if (!(error instanceof ApiRefusal && error.status === status)) throw error;
  };
}
