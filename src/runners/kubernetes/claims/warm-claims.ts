import { createHash } from "node:crypto";
import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import type { Logger } from "../../../lib/log/logger.ts";
import { PromiseCache } from "../../../lib/waiting/promise-cache.ts";
import { canonicalJson } from "../../../policy/hash.ts";
import type { GatewayPods } from "../gateway/gateway-pods.ts";
import { labelsOf } from "../labels.ts";
import { refuseOpened } from "../network/network-policy.ts";
import { podDifference } from "../pod/pod-difference.ts";
import { starting } from "../pod/pod-state.ts";
import type { StartedPod } from "../pod/started-pod.ts";
import { type CellPod, sandboxTemplate, sandboxWarmPool } from "./agent-sandbox.ts";
import { type ClaimOrder, claimPod, UnservedClaim, unservedFor } from "./claim-pod.ts";
import { createOnce, deleteSandboxObject, deleteSandboxObjects } from "./sandbox-objects.ts";

/** After a claim that nobody served, cells are started without one for this time. */
const pauseMs = 60_000;

/** The pods of one pool. */
export interface PooledPods {
  readonly pod: CellPod;
  /** how many wait in the cluster */
  readonly replicas: number;
  /** of the image that was examined; a pool is never used for another */
  readonly imageId: string;
}

const podListSchema = z.object({
  items: z.array(
    z.looseObject({
      metadata: z.looseObject({ uid: z.string(), labels: z.record(z.string(), z.string()).catch({}) }),
    }),
  ),
});

/** Warm pods that agent-sandbox keeps for this gateway. Templates, pools and claims carry its label and end with it. */
export class WarmClaims implements AsyncDisposable {
  readonly #pods: () => Promise<GatewayPods>;
  readonly #logger: Logger;
  readonly #pools = new PromiseCache<string>();
  #isUsed = false;
  #pausedUntilMs = 0;

  constructor(pods: () => Promise<GatewayPods>, logger: Logger) {
    this.#pods = pods;
    this.#logger = logger;
  }

  get isPaused(): boolean {
    return performance.now() < this.#pausedUntilMs;
  }

  pause(): void {
    this.#pausedUntilMs = performance.now() + pauseMs;
  }

  /** Has the cluster keep these pods ready. Returns the name of their pool. */
  async keep(pooled: PooledPods): Promise<string> {
    this.#isUsed = true;
    const pods = await this.#pods();
    const name = poolName(pods.gateway, pooled);
    return await this.#pools.get(name, () => this.#create(pods, name, pooled));
  }

  async #create({ api, gateway }: GatewayPods, name: string, { pod, replicas }: PooledPods): Promise<string> {
    const labels = labelsOf("pool", gateway);
    await createOnce(api, "sandboxtemplates", sandboxTemplate(name, labels, pod));
    await createOnce(api, "sandboxwarmpools", sandboxWarmPool(name, labels, replicas));
    this.#logger.info("agent-sandbox keeps warm pods", { pool: name, replicas });
    return name;
  }

  /** Takes one. If that fails, the pool is looked for again next time: another gateway may have taken this one for dead. */
  async take(pooled: PooledPods, order: Omit<ClaimOrder, "pool">): Promise<StartedPod> {
    const pods = await this.#pods();
    const pool = await this.keep(pooled).catch((error: unknown) => {
      throw unservedFor(error, "sandboxwarmpools", pods.api);
    });
    try {
      return await this.#startable(pods, { ...order, pool }, pooled.replicas + 1);
    } catch (error) {
      this.#forget(pool);
      throw error;
    }
  }

  /** agent-sandbox also gives pods that ended while they waited, until it replaces them after minutes. They go with their claims. */
  async #startable(pods: GatewayPods, order: ClaimOrder, tries: number): Promise<StartedPod> {
    const ended: CodecellError[] = [];
    while (ended.length < tries) {
      const pod = await claimPod(pods, order);
      const state = pod.last && starting(pod.last);
      if (state?.kind !== "failed") return pod;
      this.#logger.info("agent-sandbox gave a pod that cannot start", { pod: pod.name, error: state.error });
      ended.push(state.error);
      await pod.remove();
    }
    const last = ended.at(-1);
    const message = `agent-sandbox gave pods that cannot start, ${tries} times: ${last?.message}`;
    throw new UnservedClaim("cell_start_failed", message, { cause: last, hint: "see `kubectl get sandboxes`" });
  }

  /** Throws if the pod is not what was asked for. Called before anything connects to it. */
  async check({ pod: asked }: PooledPods, pod: StartedPod, isClosedByPolicy: boolean): Promise<void> {
    const { api } = await this.#pods();
    const query = { fieldSelector: `metadata.name=${pod.name}` };
    const request = { verb: "list", resource: "pods", path: api.path("pods"), query } as const;
    const list = await api.json(request).catch((error: unknown) => {
      throw api.explain(error, request);
    });
    const found = podListSchema.parse(list).items.find(({ metadata }) => metadata.uid === pod.uid);
    if (found === undefined) throw new CodecellError("cell_start_failed", "the pod was deleted, but not by codecell");
    const differs = podDifference(asked, found);
    if (differs !== undefined) {
      throw new CodecellError(
        "cell_start_failed",
        `the pod from the warm pool is not what codecell asked for: ${differs}`,
        { hint: "find the admission rule or the controller that changes pods of this namespace, and exempt them" },
      );
    }
    // It has labels of agent-sandbox too, by which another policy may select and open it.
    if (isClosedByPolicy) await refuseOpened(api, found.metadata.labels);
  }

  /** Gives up a pool whose pods have another image by now. */
  async drop(pooled: PooledPods): Promise<void> {
    const { api, gateway } = await this.#pods();
    const name = poolName(gateway, pooled);
    this.#forget(name);
    await deleteSandboxObject(api, "sandboxwarmpools", name);
    await deleteSandboxObject(api, "sandboxtemplates", name);
  }

  #forget(name: string): void {
    this.#pools.forget(
      name,
      this.#pools.get(name, async () => name),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isUsed) return;
    const { api, gateway: own } = await this.#pods();
    await deleteSandboxObjects(api, (gateway) => gateway === own, this.#logger).catch((error: unknown) => {
      this.#logger.warn("warm pools could not be deleted; the next gateway deletes them", { error });
    });
  }
}

/** Pure: two pools with one name have the same pods. */
function poolName(gateway: string, { pod: { metadata, spec }, replicas, imageId }: PooledPods): string {
  const { labels, annotations } = metadata;
  const text = canonicalJson({ labels, annotations, spec, replicas, imageId });
  return `codecell-${gateway}-pool-${createHash("sha256").update(text).digest("hex").slice(0, 12)}`;
}
