import { z } from "zod";
import type { Logger } from "../../../lib/log/logger.ts";
import { deleteSandboxObjects } from "../claims/sandbox-objects.ts";
import { ApiRefusal } from "../client/api-refusal.ts";
import type { ClusterApi } from "../client/cluster-api.ts";
import { gatewayLabel, managedBy, roleLabel, selectorOf } from "../labels.ts";
import { deletePod } from "../pod/delete-pod.ts";
import { podSchema } from "../pod/watched-pod.ts";
import { type GatewayLease, listLeases } from "./gateway-lease.ts";

const configMapsSchema = z.object({
  items: z.array(
    z.object({ metadata: z.object({ name: z.string(), labels: z.record(z.string(), z.string()).catch({}) }) }),
  ),
});

/** Pods of gateways without a lease are rare, and a list of all pods is expensive. */
const fullLookMs = 300_000;

/** Deletes what gateways left that are dead: pods whose gateway's lease is gone or has not been renewed. */
export class Orphans {
  readonly #api: ClusterApi;
  readonly #own: string;
  readonly #logger: Logger;
  readonly #now: () => number;
  /** when each lease was first seen as it is: clocks of several machines differ, so only this one counts */
  readonly #seen = new Map<string, { readonly version: string; readonly atMs: number }>();
  #looking: Promise<void> | undefined;
  #fullLookAt = 0;

  constructor(api: ClusterApi, own: string, logger: Logger, now: () => number = () => performance.now()) {
    this.#api = api;
    this.#own = own;
    this.#logger = logger;
    this.#now = now;
  }

  /** One look at a time. It fails silently: the next renewal looks again. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch((error: unknown) => this.#logger.warn("could not look for pods of dead gateways", { error }))
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  async #look(): Promise<void> {
    const leases = await listLeases(this.#api);
    const expired = leases.filter((lease) => this.#isExpired(lease));
    const isFull = this.#now() >= this.#fullLookAt;
    if (expired.length === 0 && !isFull) return;
    const living = new Set([this.#own, ...leases.filter((lease) => !expired.includes(lease)).map(gatewayOf)]);
    await this.#deleteSandboxes(living); // before their pods, which agent-sandbox would start again
    await this.#deletePods(living);
    await this.#deleteSources(living);
    for (const lease of expired) await this.#deleteLease(lease);
    this.#fullLookAt = this.#now() + fullLookMs;
  }

  #isExpired(lease: GatewayLease): boolean {
    const { name, resourceVersion: version } = lease.metadata;
    const seen = this.#seen.get(name);
    if (seen?.version !== version) {
      this.#seen.set(name, { version, atMs: this.#now() });
      return false;
    }
    return gatewayOf(lease) !== this.#own && this.#now() - seen.atMs > lease.spec.leaseDurationSeconds * 1000;
  }

  async #deletePods(living: ReadonlySet<string>): Promise<void> {
    const labelSelector = selectorOf(managedBy);
    const request = { verb: "list", resource: "pods", path: this.#api.path("pods"), query: { labelSelector } } as const;
    const list = await this.#api.json(request).catch((error: unknown) => {
      throw this.#api.explain(error, request);
    });
    const pods = z.object({ items: z.array(podSchema) }).parse(list).items;
    // A gateway takes its lease before its first pod, so one without a lease is dead, unless the lease was listed too early.
    const orphans = pods.filter(({ metadata }) => {
      const gateway = metadata.labels[gatewayLabel];
      return gateway !== undefined && !living.has(gateway) && !metadata.deletionTimestamp;
    });
    if (orphans.length === 0) return;
    const now = await this.#livingNow();
    for (const { metadata } of orphans.filter((pod) => !now.has(pod.metadata.labels[gatewayLabel] ?? ""))) {
      this.#logger.info("deleting the pod of a gateway that is gone", { pod: metadata.name });
      await deletePod(this.#api, metadata.name, { uid: metadata.uid });
    }
  }

  /** Claims and warm pools of dead gateways, where agent-sandbox is installed. */
  async #deleteSandboxes(living: ReadonlySet<string>): Promise<void> {
    let now: Promise<ReadonlySet<string>> | undefined;
    const isDead = async (gateway: string) => {
      if (living.has(gateway)) return false;
      now ??= this.#livingNow();
      return !(await now).has(gateway);
    };
    await deleteSandboxObjects(this.#api, isDead, this.#logger);
  }

  async #livingNow(): Promise<ReadonlySet<string>> {
    return new Set((await listLeases(this.#api)).filter((lease) => !this.#isExpired(lease)).map(gatewayOf));
  }

  /** A gateway that was killed while it examined an image left the kernel's sources. */
  async #deleteSources(living: ReadonlySet<string>): Promise<void> {
    const query = { labelSelector: `${selectorOf(managedBy)},${roleLabel}=examiner` };
    const request = { verb: "list", resource: "configmaps", path: this.#api.path("configmaps"), query } as const;
    const { items } = configMapsSchema.parse(await this.#api.json(request));
    for (const { name, labels } of items.map(({ metadata }) => metadata)) {
      if (living.has(labels[gatewayLabel] ?? "")) continue;
      const path = this.#api.path("configmaps", name);
      await this.#api.json({ verb: "delete", resource: "configmaps", path }).catch((error: unknown) => {
        if (!(error instanceof ApiRefusal)) throw error; // another gateway was faster
      });
    }
  }

  async #deleteLease({ metadata }: GatewayLease): Promise<void> {
    const body = { preconditions: { uid: metadata.uid, resourceVersion: metadata.resourceVersion } };
    const path = this.#api.path("leases", metadata.name);
    await this.#api.json({ verb: "delete", resource: "leases", path, body }).catch((error: unknown) => {
      if (!(error instanceof ApiRefusal)) throw error; // renewed after all, or gone
    });
    this.#seen.delete(metadata.name);
  }
}

function gatewayOf({ metadata }: GatewayLease): string {
  return metadata.labels[gatewayLabel] ?? "";
}
