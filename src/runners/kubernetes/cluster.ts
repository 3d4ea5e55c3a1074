import { z } from "zod";
import { Cleanup } from "../../lib/cleanup.ts";
import { CodecellError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/log/logger.ts";
import { PromiseCache } from "../../lib/waiting/promise-cache.ts";
import { type ClaimsProblem, claimsProblem } from "./claims/claims-finding.ts";
import { WarmClaims } from "./claims/warm-claims.ts";
import { ClusterApi } from "./client/cluster-api.ts";
import { openConnection } from "./client/cluster-connection.ts";
import { PodWatch } from "./client/pod-watch.ts";
import { HeldLease } from "./gateway/gateway-lease.ts";
import { GatewayPods, newGatewayId } from "./gateway/gateway-pods.ts";
import { Orphans } from "./gateway/orphans.ts";
import { ClusterKernels } from "./kernel/cluster-kernels.ts";
import { gatewayLabel } from "./labels.ts";
import { NetworkProofs } from "./network/network-proofs.ts";
import type { ClusterFacts, NetworkFinding } from "./plan.ts";
import { declaredIsolation, hasOwnLoopback, type KubernetesSettings } from "./settings.ts";

const versionSchema = z.object({ major: z.string(), minor: z.string(), gitVersion: z.string().catch("") });
/** The first version whose kubelets give files in memory a size by default. */
const sizedMinor = 22;

/** The cluster of one runner: its API, and what this gateway holds there once it starts pods. */
export class Cluster implements AsyncDisposable {
  readonly api: ClusterApi;
  readonly settings: KubernetesSettings;
  readonly kernels: ClusterKernels;
  /** warm pods that agent-sandbox keeps, where it is used */
  readonly claims: WarmClaims;
  readonly #logger: Logger;
  readonly #cleanup = new Cleanup();
  readonly #gateway = newGatewayId();
  readonly #once = new PromiseCache<GatewayPods>();
  readonly #proofs: NetworkProofs;
  #version: { readonly text: string; readonly minor: number } | undefined;

  private constructor(api: ClusterApi, settings: KubernetesSettings, logger: Logger, options: { mustProve?: boolean }) {
    this.api = api;
    this.settings = settings;
    this.#logger = logger;
    this.#cleanup.defer(() => api[Symbol.dispose]());
    this.kernels = new ClusterKernels(
      () => this.pods(),
      settings,
      logger,
      declaredIsolation(settings.runtimeClass) === "gvisor",
    );
    this.#proofs = new NetworkProofs(() => this.pods(), logger, options);
    this.claims = new WarmClaims(() => this.pods(), logger);
  }

  /** `mustProve`: what other processes have proved about the network does not count. */
  static async open(
    settings: KubernetesSettings,
    logger: Logger,
    options: { mustProve?: boolean } = {},
  ): Promise<Cluster> {
    return new Cluster(new ClusterApi(await openConnection(settings)), settings, logger, options);
  }

  get version(): string {
    return this.#version?.text ?? "of unknown version";
  }

  /** Asks for the version, which needs no right. Throws if the API server does not answer. */
  async answers(timeoutMs: number): Promise<void> {
    const request = { verb: "get", resource: "version", path: "/version", timeoutMs } as const;
    try {
      const { major, minor, gitVersion } = versionSchema.parse(await this.api.json(request));
      const number = Number.parseInt(minor, 10) || 0; // some have a plus sign, and one that somebody built has none
      const text = number > 0 ? `${major}.${number}` : gitVersion.replace(/^v|[^\w.-].*$/g, "") || "of unknown version";
      this.#version = { text, minor: number };
    } catch (error) {
      throw this.api.explain(error, request);
    }
  }

  /** What decides about a policy in this cluster. The first time it may examine the image, and try the network with probe pods. */
  async facts(image: string | undefined): Promise<ClusterFacts> {
    if (this.#version === undefined) await this.answers(10_000);
    const { runtimeClass, image: operatorImage } = this.settings;
    const network = await this.#network(image);
    const problem = network.by === "policy" ? await this.#imageProblem(image) : undefined;
    return {
      ...{ version: this.version, image, operatorImage, runtimeClass, network },
      ...(problem === undefined ? {} : { imageProblem: problem }),
      channel: this.channel,
      sizesMemoryFiles: (this.#version?.minor ?? 0) >= sizedMinor,
    };
  }

  /**
   * An image that the policy chose and that does not start is the policy's fault. The operator's own is an error. Called only once
   * the cluster is known to close the network of pods: the image's own Python examines it.
   */
  async #imageProblem(image: string | undefined): Promise<{ reason: string; hint: string } | undefined> {
    if (image === undefined || image === this.settings.image) return undefined;
    try {
      await this.kernels.get(image);
      return undefined;
    } catch (error) {
      if (!(error instanceof CodecellError) || error.code !== "cell_start_failed") throw error;
      return { reason: error.message, hint: error.hint ?? "set kernel.image to another image" };
    }
  }

  /** Tries the network with the operator's image alone: until it is known to be closed, any other would have it. */
  async #network(image: string | undefined): Promise<NetworkFinding> {
    const { network, image: trusted } = this.settings;
    if (network === "namespace") return { by: "own-namespace", withoutRuntimeFilter: true };
    if (trusted === undefined) {
      const hint = "set CODECELL_KUBERNETES_IMAGE to an image that you trust: probe pods run it";
      return { by: "nothing", reason: "it is not known whether this cluster enforces NetworkPolicies", hint };
    }
    if (network === "auto" && image === trusted && (await this.kernels.get(trusted)).mayLeaveNetwork) {
      return { by: "own-namespace", withoutRuntimeFilter: false };
    }
    return await this.#proofs.find(trusted);
  }

  /** Pods with an OS kernel of their own have their loopback in it, where no kubelet reaches a port. */
  get channel(): ClusterFacts["channel"] {
    const { channel, runtimeClass } = this.settings;
    if (channel !== "auto") return channel;
    return hasOwnLoopback(runtimeClass) ? "attach" : "portforward";
  }

  /** Why the warm pods of policies are codecell's own; undefined: agent-sandbox can keep them. */
  async claimsProblem(): Promise<ClaimsProblem | undefined> {
    return await claimsProblem(await this.pods(), this.channel).catch((error: unknown) => {
      throw this.api.explain(error, { verb: "get", resource: "apigroups" });
    });
  }

  /** Takes the gateway's lease and watches its pods, before the first one starts. */
  pods(): Promise<GatewayPods> {
    return this.#once.get("", async () => {
      const { api, settings } = this;
      await using cleanup = new Cleanup();
      const orphans = new Orphans(api, this.#gateway, this.#logger);
      const lease = await HeldLease.take(api, this.#gateway, this.#logger, {
        onRenewed: () => void orphans.look(),
        onMissed: () => orphans.lookAnew(),
      });
      cleanup.defer(() => lease[Symbol.asyncDispose]());
      const watch = await new PodWatch(api, `${gatewayLabel}=${this.#gateway}`, this.#logger).open();
      cleanup.defer(() => watch[Symbol.asyncDispose]());
      const pods = new GatewayPods({ gateway: this.#gateway, api, watch, settings, logger: this.#logger });
      void orphans.look();
      const owned = cleanup.move();
      this.#cleanup.defer(() => owned[Symbol.asyncDispose]());
      this.#cleanup.defer(() => pods.removeAll());
      this.#cleanup.defer(() => this.claims[Symbol.asyncDispose]()); // first: it would start their pods again
      return pods;
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#cleanup[Symbol.asyncDispose]();
  }
}
