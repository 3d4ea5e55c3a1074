import { createHash } from "node:crypto";
import { z } from "zod";
import { canonicalJson } from "../../../policy/hash.ts";
import { ApiRefusal } from "../client/api-refusal.ts";
import type { GatewayPods } from "../gateway/gateway-pods.ts";
import { closedLabel, labelsOf, managedBy, roleLabel, selectorOf } from "../labels.ts";
import { closedPolicy } from "./network-policy.ts";

/** The object was created at the moment that it names, give or take a slow request. */
const slowMs = 60_000;

const proofSchema = z.object({
  metadata: z.object({ creationTimestamp: z.iso.datetime() }),
  data: z.object({ subject: z.string(), policy: z.string(), at: z.iso.datetime() }),
});

const listSchema = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });

/**
 * What other gateways and commands have proved about the network, in a ConfigMap. A proof is about the pods that were tried: other
 * images, classes, nodes and NetworkPolicies need their own. Whoever can forge the ConfigMap can also replace the kernel's, which cells run.
 */
export class SharedProof {
  readonly name: string;
  readonly #pods: Pick<GatewayPods, "api" | "gateway" | "logger">;
  readonly #subject: string;
  readonly #policy: string;

  /** `policy` is the identity of the NetworkPolicy that closes cells now. */
  constructor(pods: Pick<GatewayPods, "api" | "gateway" | "logger" | "settings">, policy: string) {
    this.#pods = pods;
    this.#policy = policy;
    // The attack: another image's Python says that nothing was reached, and the gateways believe it.
    const { image = null, runtimeClass = null, nodeSelector } = pods.settings;
    const text = canonicalJson({ spec: closedPolicy().spec, labels: closedLabel, image, runtimeClass, nodeSelector });
    this.#subject = createHash("sha256").update(text).digest("hex");
    this.name = `codecell-network-proof-${this.#subject.slice(0, 10)}`;
  }

  /** How long ago, by the API server's clock alone. Undefined: nobody has proved this. */
  async ageMs(): Promise<number | undefined> {
    const { api } = this.#pods;
    const request = { verb: "get", resource: "configmaps", path: api.path("configmaps", this.name) } as const;
    const found = await api.dated(request).catch((error: unknown) => {
      if (error instanceof ApiRefusal) return undefined;
      throw api.explain(error, request);
    });
    const { data: proof } = proofSchema.safeParse(found?.answer);
    if (found === undefined || proof?.data.subject !== this.#subject || proof.data.policy !== this.#policy) {
      return undefined;
    }
    const atMs = Date.parse(proof.data.at);
    // The attack: a copy from a backup, or from another cluster, looks as new as the moment in which it was restored.
    const isCopy = !(Math.abs(Date.parse(proof.metadata.creationTimestamp) - atMs) <= slowMs);
    const ageMs = found.serverMs - atMs;
    return isCopy || !(ageMs > -slowMs) ? undefined : Math.max(0, ageMs);
  }

  /** Tells the other gateways, and the next command. */
  async share(): Promise<void> {
    const { api, gateway, logger } = this.#pods;
    try {
      const { serverMs } = await api.dated({ verb: "get", resource: "version", path: "/version" });
      if (Number.isNaN(serverMs)) return;
      const body = {
        ...{ apiVersion: "v1", kind: "ConfigMap", immutable: true },
        metadata: { name: this.name, labels: labelsOf("proof", gateway) },
        data: { subject: this.#subject, policy: this.#policy, at: new Date(serverMs).toISOString() },
      };
      await this.#delete(this.name);
      await api.json({ verb: "create", resource: "configmaps", path: api.path("configmaps"), body }).catch(ignore(409));
    } catch (error) {
      logger.warn("other gateways have to prove the network themselves", { error });
    }
  }

  /** What was proved of this namespace is not true, or not anymore: also what others proved, of other images and nodes. */
  async withdrawAll(): Promise<void> {
    const { api, logger } = this.#pods;
    const query = { labelSelector: selectorOf({ ...managedBy, [roleLabel]: "proof" }) };
    try {
      const list = await api.json({ verb: "list", resource: "configmaps", path: api.path("configmaps"), query });
      for (const { metadata } of listSchema.parse(list).items) await this.#delete(metadata.name);
    } catch (error) {
      logger.warn("earlier proofs of the network could not be withdrawn", { error });
    }
  }

  async #delete(name: string): Promise<void> {
    const { api } = this.#pods;
    const request = { verb: "delete", resource: "configmaps", path: api.path("configmaps", name) } as const;
    await api.json(request).catch(ignore(404));
  }
}

function ignore(status: number) {
  return (error: unknown) => {
    if (!(error instanceof ApiRefusal && error.status === status)) throw error;
  };
}
