import { isDeepStrictEqual } from "node:util";
import type { ModuleHint } from "../../kernel/preload-failure.ts";
import { Cleanup } from "../../lib/cleanup.ts";
import { CodecellError } from "../../lib/errors.ts";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import { policyHash } from "../../policy/hash.ts";
import type { IsolationLevel } from "../../policy/isolation.ts";
import type { Policy } from "../../policy/schema.ts";
import { ChannelCell, noUsage } from "../channel-cell.ts";
import { enforcedReceipt, policyRefused } from "../enforced-receipt.ts";
import { namespaceGuarantees } from "../linux/guarantees.ts";
import { linuxKernelSetup } from "../linux/kernel-setup.ts";
import type { EnforcementPlan } from "../receipt.ts";
import type { Cell, CellSpec, Guarantee, Probe, ProbeOptions, SandboxRunner, StartOptions } from "../runner.ts";
import { attachChannel, forwardChannel, type PodChannel, pooledLink } from "./channel/pod-channel.ts";
import { UnservedClaim } from "./claims/claim-pod.ts";
import { pooledUser } from "./claims/user-namespaces.ts";
import { Cluster } from "./cluster.ts";
import type { GatewayPods } from "./gateway/gateway-pods.ts";
import type { ClusterKernel } from "./kernel/cluster-kernels.ts";
import { refuseOpened } from "./network/network-policy.ts";
import { type ClusterFacts, type NetworkFinding, planKubernetes } from "./plan.ts";
import { cellPod, longestSeconds, watchedLimits } from "./pod/cell-pod.ts";
import type { HardenedPod } from "./pod/hardened-pod.ts";
import { exitOf, untilEnded } from "./pod/pod-exit.ts";
import { StartedPod } from "./pod/started-pod.ts";
import {
  declaredIsolation,
  hasCredentials,
  isMeantForCells,
  type KubernetesSettings,
  kubernetesSettings,
} from "./settings.ts";

export type { ChannelKind, ClaimUse, KubernetesSettings, NetworkProof, PullPolicy } from "./settings.ts";

/** Options of the Kubernetes runner. All have defaults: environment variables, and then those of the cluster. */
export interface KubernetesRunnerOptions extends Partial<KubernetesSettings> {
  readonly logger?: Logger;
  /** try the cluster's network anew, whatever other processes have proved; default: false */
  readonly mustProve?: boolean;
}

/** A cell is a pod of a cluster that exists. Creating the runner starts nothing and loads nothing. */
export function kubernetesRunner(options: KubernetesRunnerOptions = {}): SandboxRunner {
  const { logger = silentLogger, mustProve = false, ...own } = options;
  return new KubernetesRunner(own, logger, mustProve);
}

const probeMs = { quick: 1_500, patient: 90_000 } as const;

class KubernetesRunner implements SandboxRunner {
  readonly name = "kubernetes";
  readonly takesWorkspace = false;
  readonly insideSandbox = "needs engine";
  readonly #own: Partial<KubernetesSettings>;
  readonly #logger: Logger;
  readonly #mustProve: boolean;
  /** hashes of the policies whose pods agent-sandbox keeps warm */
  readonly #pooled = new Set<string>();
  #cluster: Promise<Cluster> | undefined;
  #isDisposed = false;

  constructor(own: Partial<KubernetesSettings>, logger: Logger, mustProve: boolean) {
    this.#own = own;
    this.#logger = logger;
    this.#mustProve = mustProve;
  }

  /** By the name of the RuntimeClass. A cell whose OS kernel is another one does not start. */
  get isolation(): IsolationLevel {
    return declaredIsolation(this.#own.runtimeClass ?? process.env.CODECELL_KUBERNETES_RUNTIME_CLASS);
  }

  async probe({ isWanted = false }: ProbeOptions = {}): Promise<Probe> {
    const isMeant = isMeantForCells() || this.#own.namespace !== undefined;
    if (!isWanted && !isMeant) {
      return hasCredentials()
        ? {
            ...{ available: false, reason: "no namespace is set for cells" },
            hint: "set CODECELL_KUBERNETES_NAMESPACE to use the cluster of your kubeconfig (docs/kubernetes.md)",
          }
        : {
            ...{ available: false, reason: "no cluster is configured" },
            hint: "set KUBECONFIG and CODECELL_KUBERNETES_NAMESPACE to use a Kubernetes cluster (docs/kubernetes.md)",
          };
    }
    try {
      const cluster = await this.#open();
      await cluster.answers(isWanted ? probeMs.patient : probeMs.quick);
      const guarantees: Guarantee[] = [...namespaceGuarantees, "os-memory-limit", "syscall-filter"];
      if (this.isolation === "gvisor") guarantees.push("own-kernel");
      return { available: true, version: `Kubernetes ${cluster.version}`, guarantees };
    } catch (error) {
      if (!(error instanceof CodecellError)) throw error;
      return { available: false, reason: error.message, hint: error.hint ?? "" };
    }
  }

  async plan(policy: Policy): Promise<EnforcementPlan> {
    const cluster = await this.#open();
    return planKubernetes(policy, await cluster.facts(this.#image(policy, cluster)));
  }

  /** Of a policy's warm cells, one is the caller's, connected. The others are pods that agent-sandbox keeps, where it can. */
  async keepWarm(policy: Policy): Promise<number> {
    const replicas = policy.session.pool - 1;
    const cluster = await this.#open();
    const { claims } = cluster.settings;
    if (replicas < 1 || claims === "off") return 0;
    try {
      const problem = await cluster.claimsProblem();
      if (problem === undefined) return await this.#keepPods(cluster, policy, replicas);
      if (claims === "on") throw claimsRequired(problem.reason, problem.hint);
      this.#logger.info("codecell keeps warm pods itself", { reason: problem.reason });
    } catch (error) {
      if (claims === "on" || !(error instanceof CodecellError)) throw error;
      this.#logger.warn("codecell keeps warm pods itself", { error });
    }
    return 0;
  }

  async #keepPods(cluster: Cluster, policy: Policy, replicas: number): Promise<number> {
    const image = this.#image(policy, cluster);
    if (image === undefined) return 0; // no cell starts, and the start says why
    const facts = { ...(await cluster.facts(image)), isPooled: true };
    if (facts.network.by === "nothing") return 0;
    const kernel = await cluster.kernels.get(image);
    const hash = policyHash(policy);
    const pods = await cluster.pods();
    const pod = this.#pod(policy, { cluster, image, kernel, network: facts.network, facts, hash, pods });
    await cluster.claims.keep({ pod, replicas, imageId: kernel.imageId });
    this.#pooled.add(hash);
    return replicas;
  }

  async start(spec: CellSpec, { signal }: StartOptions = {}): Promise<Cell> {
    const cluster = await this.#open();
    if (!this.#pooled.has(spec.policyHash) || cluster.claims.isPaused)
      return await this.#startAny(cluster, spec, false, signal);
    try {
      return await this.#startAny(cluster, spec, true, signal);
    } catch (error) {
      if (!(error instanceof UnservedClaim) || cluster.settings.claims === "on") throw error;
      this.#logger.warn("agent-sandbox gave no pod; codecell starts one itself", { error });
      cluster.claims.pause();
      return await this.#startAny(cluster, spec, false, signal);
    }
  }

  /** `isPooled`: with a pod of agent-sandbox's warm pool. */
  async #startAny(cluster: Cluster, spec: CellSpec, isPooled: boolean, signal?: AbortSignal): Promise<Cell> {
    const image = this.#image(spec.policy, cluster);
    try {
      return await this.#startIn(cluster, spec, image, isPooled, signal);
    } catch (error) {
      if (!(error instanceof MovedImage) || image === undefined) throw error;
      this.#logger.info("the image's name means another image now", { image });
      await cluster.kernels.forget(image, error.known);
      return await this.#startIn(cluster, spec, image, isPooled, signal).catch((again: unknown) => {
        if (!(again instanceof MovedImage)) throw again;
        throw new CodecellError("cell_start_failed", `nodes have different images under the name ${image}`, {
          hint: "name the image by its digest",
        });
      });
    }
  }

  async #startIn(
    cluster: Cluster,
    spec: CellSpec,
    image: string | undefined,
    isPooled: boolean,
    signal?: AbortSignal,
  ): Promise<Cell> {
    const { policy } = spec;
    const facts = { ...(await cluster.facts(image)), isPooled };
    const plan = planKubernetes(policy, facts);
    const runnerVersion = `Kubernetes ${facts.version}`;
    const receipt = enforcedReceipt(plan, { runner: this.name, runnerVersion, policyHash: spec.policyHash });
    const { network } = facts;
    if (image === undefined || network.by === "nothing") throw policyRefused(this.name, plan);
    const kernel = await cluster.kernels.get(image);
    const pods = await cluster.pods();
    const way = cluster.channel === "attach" ? attachChannel : forwardChannel();
    await using cleanup = new Cleanup();
    const asked = this.#pod(policy, { cluster, image, kernel, network, facts, hash: spec.policyHash, pods, way });
    const pooled = { pod: asked, replicas: policy.session.pool - 1, imageId: kernel.imageId };
    const pod = isPooled
      ? await cluster.claims.take(pooled, { cell: spec.id, longestSeconds: longestSeconds(policy), signal })
      : await StartedPod.create(pods.order(asked, signal));
    cleanup.defer(() => pod.remove());
    const { imageId } = await pod.running();
    if (kernel.imageId !== "" && imageId !== "" && imageId !== kernel.imageId) {
      if (isPooled) await cluster.claims.drop(pooled);
      throw new MovedImage(kernel);
    }
    if (isPooled) await cluster.claims.check(pooled, pod, network.by === "policy");
    else if (network.by === "policy") await refuseOpenedByLabel(pods, pod, asked);
    const whileAlive = untilEnded(pod, signal);
    const channel = await way.open(pods, pod.name, whileAlive).catch(async (error: unknown) => {
      throw await this.#startFailure(error, pod);
    });
    pod.own();
    cleanup.defer(() => channel.destroy());
    let isOutOfMemory = false;
    const exited = exitOf(pod, channel).then((exit) => {
      isOutOfMemory = exit.isOutOfMemory;
      channel.destroy();
      return exit;
    });
    return new ChannelCell({
      ...{ id: spec.id, channel, exited, receipt, moduleHint },
      exitKnownMs: 4_000, // a kubelet tells a second or two later
      usage: async () => ({ ...noUsage, oomKills: isOutOfMemory ? 1 : 0 }),
      setup: linuxKernelSetup(policy, {
        path: [...kernel.path],
        env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
        ...watchedLimits(policy, this.isolation === "gvisor"),
      }),
      kill: () => void pod.remove(),
      hasten: () => void pod.remove(), // closing the connection does not close the process's standard input
      cleanup: cleanup.move(),
    });
  }

  /** The pod of a cell. One of a warm pool has no name, no user and no ticket of its own. */
  #pod(policy: Policy, parts: PodParts) {
    const { cluster, image, kernel, network, facts, hash, pods, way } = parts;
    return cellPod(policy, {
      ...(facts.isPooled
        ? { name: "", user: pooledUser, link: pooledLink, isPooled: true }
        : { name: pods.newName(), user: pods.newUser(), link: way?.settings }),
      ...{ gateway: pods.gateway, policyHash: hash, image, python: kernel.executable, kernel: kernel.configMap },
      arch: kernel.machine === "x86_64" ? "amd64" : "arm64",
      network: {
        by: network.by,
        withoutRuntimeFilter: network.by === "own-namespace" && network.withoutRuntimeFilter,
      },
      hasOwnKernel: this.isolation === "gvisor",
      sizesMemoryFiles: facts.sizesMemoryFiles,
      settings: cluster.settings,
    });
  }

  /** A pod that ended while nobody was attached says why in its status. */
  async #startFailure(error: unknown, pod: StartedPod): Promise<unknown> {
    const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 1_000).unref());
    const ending = await Promise.race([pod.ending, late]);
    if (!ending) return error;
    const said = ending.message.trim().split("\n").at(-1) || ending.error.message;
    return new CodecellError("cell_start_failed", `the cell exited before it was ready: ${said}`, {
      cause: ending.error,
      details: ending.error.details,
    });
  }

  #image(policy: Policy, { settings }: Cluster): string | undefined {
    return policy.kernel.image ?? settings.image;
  }

  #open(): Promise<Cluster> {
    if (this.#isDisposed) throw new CodecellError("internal", "the runner is disposed");
    const settings = { ...kubernetesSettings(), ...this.#own };
    const opening = () => Cluster.open(settings, this.#logger, { mustProve: this.#mustProve });
    this.#cluster ??= opening().catch((error: unknown) => {
      this.#cluster = undefined;
      throw error;
    });
    return this.#cluster;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    const cluster = await this.#cluster?.catch(() => undefined);
    await cluster?.[Symbol.asyncDispose]();
  }
}

interface PodParts {
  readonly cluster: Cluster;
  readonly image: string;
  readonly kernel: ClusterKernel;
  readonly network: Exclude<NetworkFinding, { readonly by: "nothing" }>;
  readonly facts: Pick<ClusterFacts, "sizesMemoryFiles" | "isPooled">;
  readonly hash: string;
  readonly pods: GatewayPods;
  /** absent for pods of a warm pool */
  readonly way?: PodChannel;
}

/** The attack: an admission rule adds a label by which a policy that is not meant for cells opens this one. */
async function refuseOpenedByLabel({ api }: GatewayPods, pod: StartedPod, asked: HardenedPod): Promise<void> {
  const labels = pod.last?.metadata.labels ?? {};
  if (!isDeepStrictEqual(labels, asked.metadata.labels)) await refuseOpened(api, labels);
}

function claimsRequired(reason: string, hint: string): CodecellError {
  const message = `CODECELL_KUBERNETES_CLAIMS is on, but agent-sandbox cannot keep warm pods: ${reason}`;
  return new CodecellError("runner_unavailable", message, { hint });
}

/** A pod got another image than the one that was examined under its name. */
class MovedImage extends Error {
  readonly known: ClusterKernel;

  constructor(known: ClusterKernel) {
    super("the image's name means another image now");
    this.known = known;
  }
}

const moduleHint: ModuleHint = () => "set kernel.image to an image that has it, or remove it from kernel.preload";
