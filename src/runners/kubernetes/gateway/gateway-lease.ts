import { hostname } from "node:os";
import { z } from "zod";
import type { Logger } from "../../../lib/log/logger.ts";
import { ApiRefusal } from "../client/api-refusal.ts";
import type { ClusterApi } from "../client/cluster-api.ts";
import { gatewayLabel, labelsOf, managedBy, selectorOf } from "../labels.ts";

export const leaseSeconds = 30;
export const renewMs = (leaseSeconds * 1000) / 3;

export const leasePrefix = "codecell-gateway-";

export const leaseSchema = z.object({
  metadata: z.object({
    name: z.string(),
    resourceVersion: z.string(),
    uid: z.string(),
    labels: z.record(z.string(), z.string()).catch({}),
  }),
  spec: z
    .object({ leaseDurationSeconds: z.number().catch(leaseSeconds) })
    .catch({ leaseDurationSeconds: leaseSeconds }),
});

export type GatewayLease = z.output<typeof leaseSchema>;

/** Called after each attempt to renew the lease. */
export interface RenewalListener {
  /** the API server answers: the moment to look for what dead gateways left */
  readonly onRenewed: () => void;
  /** it did not, or not in time */
  readonly onMissed: () => void;
}

/** Shows the other gateways that this one lives. Without it they delete its pods. */
export class HeldLease implements AsyncDisposable {
  readonly #api: ClusterApi;
  readonly #gateway: string;
  readonly #logger: Logger;
  readonly #listener: RenewalListener;
  #version: string;
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> | undefined;
  #isClosed = false;

  private constructor(api: ClusterApi, gateway: string, logger: Logger, listener: RenewalListener, version: string) {
    this.#api = api;
    this.#gateway = gateway;
    this.#logger = logger;
    this.#listener = listener;
    this.#version = version;
    this.#schedule();
  }

  static async take(api: ClusterApi, gateway: string, logger: Logger, listener: RenewalListener): Promise<HeldLease> {
    const request = { verb: "create", resource: "leases", path: api.path("leases") } as const;
    const body = leaseOf(gateway, undefined);
    const made = await api.json({ ...request, body }).catch((error: unknown) => {
      throw api.explain(error, request);
    });
    return new HeldLease(api, gateway, logger, listener, leaseSchema.parse(made).metadata.resourceVersion);
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#renewing = this.#renew().finally(() => {
        if (!this.#isClosed) this.#schedule();
      });
    }, renewMs).unref();
  }

  async #renew(): Promise<void> {
    try {
      await this.#update().catch(async (error: unknown) => {
        if (!(error instanceof ApiRefusal && error.status === 409)) throw error;
        await this.#lookUp();
        await this.#update();
      });
      this.#listener.onRenewed();
    } catch (error) {
      if (error instanceof ApiRefusal && error.status === 404) return await this.#again();
      this.#listener.onMissed();
      this.#logger.warn("the lease of this gateway could not be renewed", { error });
    }
  }

  async #update(): Promise<void> {
    const path = this.#api.path("leases", leasePrefix + this.#gateway);
    const body = leaseOf(this.#gateway, this.#version);
    const renewed = await this.#api.json({ verb: "update", resource: "leases", path, body, timeoutMs: renewMs });
    this.#version = leaseSchema.parse(renewed).metadata.resourceVersion;
  }

  /** Somebody labelled the lease, or the answer to the last renewal was lost: every later one would be refused too. */
  async #lookUp(): Promise<void> {
    const own = (await listLeases(this.#api)).find(({ metadata }) => metadata.name === leasePrefix + this.#gateway);
    if (own) this.#version = own.metadata.resourceVersion;
  }

  /** Another gateway saw this one as dead, for example while this machine was suspended. Its pods may be gone already. */
  async #again(): Promise<void> {
    try {
      const made = await this.#api.json({
        ...{
          verb: "create",
          resource: "leases",
          path: this.#api.path("leases"),
          body: leaseOf(this.#gateway, undefined),
        },
      });
      this.#version = leaseSchema.parse(made).metadata.resourceVersion;
      this.#logger.warn("the lease of this gateway was gone and was taken again", { gateway: this.#gateway });
    } catch (error) {
      this.#logger.warn("the lease of this gateway is gone", { error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#renewing;
    const path = this.#api.path("leases", leasePrefix + this.#gateway);
    await this.#api.json({ verb: "delete", resource: "leases", path, timeoutMs: 5_000 }).catch((error: unknown) => {
      if (!(error instanceof ApiRefusal && error.status === 404))
        this.#logger.warn("the lease of this gateway could not be deleted", { error });
    });
  }
}

function leaseOf(gateway: string, resourceVersion: string | undefined) {
  const { "codecell/role": _, ...labels } = labelsOf("cell", gateway);
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: leasePrefix + gateway, labels, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    spec: {
      holderIdentity: `${hostname()} ${process.pid}`.slice(0, 120),
      leaseDurationSeconds: leaseSeconds,
      renewTime: new Date().toISOString().replace("Z", "000Z"), // microseconds
    },
  };
}

/** The leases of all gateways in the namespace. */
export async function listLeases(api: ClusterApi): Promise<GatewayLease[]> {
  const query = {
    labelSelector: selectorOf(managedBy),
  };
  const request = { verb: "list", resource: "leases", path: api.path("leases"), query } as const;
  const list = await api.json(request).catch((error: unknown) => {
    throw api.explain(error, request);
  });
  const { items } = z.object({ items: z.array(z.unknown()) }).parse(list);
  return items
    .map((item) => leaseSchema.parse(item))
    .filter(({ metadata }) => metadata.labels[gatewayLabel] !== undefined);
}
