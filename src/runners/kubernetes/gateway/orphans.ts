import { z } from "zod";
import type { Logger } from "../../../lib/log/logger.ts";
import { deleteSandboxObjects } from "../claims/sandbox-objects.ts";
import { ApiRefusal } from "../client/api-refusal.ts";
import type { ClusterApi } from "../client/cluster-api.ts";
import { gatewayLabel, managedBy, roleLabel, selectorOf } from "../labels.ts";
import { deletePod } from "../pod/delete-pod.ts";
import { podSchema } from "../pod/watched-pod.ts";
import { type GatewayLease, listLeases, renewMs } from "./gateway-lease.ts";

const configMapsSchema = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), uid: z.string(), labels: z.record(z.string(), z.string()).catch({}) }),
    }),
  ),
});

/** Pods of gateways without a lease are rare, and a list of all pods is expensive. */
const fullLookMs = 300_000;

/**
 * Between looks that are further apart, the API server may have been away, or this machine paused. The other gateways may not have
 * been able to renew their leases in that time, so it does not count.
 */
const longestGapMs = 2 * renewMs;

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
  #lookedAtMs = 0;

  constructor(api: ClusterApi, own: string, logger: Logger, now: () => number = () => performance.now()) {
    this.#api = api;
    this.#own = own;
    this.#logger = logger;
    this.#now = now;
  }

  /** One look at a time. It fails silently: the next renewal looks again. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch((error: unknown) => {
        // Who refuses this gateway one request for good still lets the others renew their leases.
        if (!isRefusedForGood(error)) this.lookAnew();
        this.#logger.warn("could not look for pods of dead gateways", { error });
      })
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  /** The API server did not answer this gateway, so perhaps nobody: each lease is given its full time from the next look on. */
  lookAnew(): void {
    this.#seen.clear();
  }

  async #look(): Promise<void> {
    const leases = await listLeases(this.#api);
    if (this.#now() - this.#lookedAtMs > longestGapMs) this.lookAnew();
    this.#lookedAtMs = this.#now();
    const expired = leases.filter((lease) => this.#isExpired(lease));
    const isFull = this.#now() >= this.#fullLookAt;
    if (expired.length === 0 && !isFull) return;
    const living = new Set([this.#own, ...leases.filter((lease) => !expired.includes(lease)).map(gatewayOf)]);
    const isDead = this.#judge(living);
    await deleteSandboxObjects(this.#api, isDead, this.#logger); // before their pods, which agent-sandbox would start again
    await this.#deletePods(isDead);
    await this.#deleteSources(isDead);
    for (const lease of expired) if (await isDead(gatewayOf(lease))) await this.#deleteLease(lease);
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

  /**
   * A gateway takes its lease before it makes anything, so one without a lease is dead, unless its lease was listed too early:
   * gateways start during a look. So the leases are listed again for each gateway that something was found of.
   */
  #judge(living: ReadonlySet<string>): IsDead {
    const known = new Map([...living].map((gateway) => [gateway, false]));
    return async (gateway) => {
      const verdict = known.get(gateway) ?? !(await this.#livingNow()).has(gateway);
      known.set(gateway, verdict);
      return verdict;
    };
  }

  async #livingNow(): Promise<ReadonlySet<string>> {
    return new Set((await listLeases(this.#api)).filter((lease) => !this.#isExpired(lease)).map(gatewayOf));
  }

  async #deletePods(isDead: IsDead): Promise<void> {
    const labelSelector = selectorOf(managedBy);
    const request = { verb: "list", resource: "pods", path: this.#api.path("pods"), query: { labelSelector } } as const;
    const list = await this.#api.json(request).catch((error: unknown) => {
      throw this.#api.explain(error, request);
    });
    const pods = z.object({ items: z.array(podSchema) }).parse(list).items;
    for (const { metadata } of pods) {
      const gateway = metadata.labels[gatewayLabel];
      if (gateway === undefined || metadata.deletionTimestamp || !(await isDead(gateway))) continue;
      this.#logger.info("deleting the pod of a gateway that is gone", { pod: metadata.name });
      await deletePod(this.#api, metadata.name, { uid: metadata.uid });
    }
  }

  /** A gateway that was killed while it examined an image left the kernel's sources. */
  async #deleteSources(isDead: IsDead): Promise<void> {
    const query = { labelSelector: selectorOf({ ...managedBy, [roleLabel]: "examiner" }) };
    const request = { verb: "list", resource: "configmaps", path: this.#api.path("configmaps"), query } as const;
    const { items } = configMapsSchema.parse(await this.#api.json(request));
    for (const { name, uid, labels } of items.map(({ metadata }) => metadata)) {
      if (!(await isDead(labels[gatewayLabel] ?? ""))) continue;
      const path = this.#api.path("configmaps", name);
      const body = { preconditions: { uid } };
      await this.#api.json({ verb: "delete", resource: "configmaps", path, body }).catch((error: unknown) => {
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

type IsDead = (gateway: string) => Promise<boolean>;

function gatewayOf({ metadata }: GatewayLease): string {
  return metadata.labels[gatewayLabel] ?? "";
}

function isRefusedForGood(error: unknown): boolean {
  const refusal = error instanceof Error && !(error instanceof ApiRefusal) ? error.cause : error;
  return refusal instanceof ApiRefusal && refusal.status >= 400 && refusal.status < 500 && refusal.status !== 429;
}
