import { join } from "node:path";
import type { V1ConfigMap, V1Pod } from "@kubernetes/client-node";
import { type ApiObject, timestamp } from "../api/api-object.ts";
import type { ObjectStore } from "../api/object-store.ts";
import { configMaps, pods } from "../api/resource-table.ts";
import type { ContainerStreams } from "./container-streams.ts";
import { type PodNetwork, podAddresses } from "./pod-network.ts";
import { type ContainerExit, PodProcess, type PodProcessParts } from "./pod-process.ts";
import * as podStatus from "./pod-status.ts";
import { MissingVolume } from "./pod-volumes.ts";

/** What a test has in mind for a pod, instead of what would happen to it. */
export type PodScenario =
  | { readonly kind: "unschedulable"; readonly message: string }
  /** such as ErrImagePull, ImagePullBackOff, CreateContainerConfigError, CreateContainerError */
  | { readonly kind: "waits"; readonly reason: string; readonly message: string }
  /** on this node, whatever it asks for */
  | { readonly kind: "placed"; readonly node: string };

export interface WorkerParts {
  readonly store: ObjectStore;
  readonly directory: string;
  readonly images: ReadonlySet<string>;
  readonly cgroups: PodProcessParts["cgroups"];
  readonly cgroupName: string;
  readonly node: string;
  readonly podIp: string;
  /** undefined: pods have nothing but loopback */
  readonly network: PodNetwork | undefined;
  readonly scenario: PodScenario | undefined;
}

/** One pod on its node, from its creation until it is gone. */
export class PodWorker {
  readonly pod: V1Pod;
  readonly node: string;
  readonly #parts: WorkerParts;
  #process: PodProcess | undefined;
  #isLost = false;
  #isEnding = false;
  #startedAt = timestamp();
  #deadline: NodeJS.Timeout | undefined;
  #grace: NodeJS.Timeout | undefined;
  readonly #done: Promise<void>;

  constructor(pod: V1Pod, parts: WorkerParts) {
    this.pod = pod;
    this.node = parts.node;
    this.#parts = parts;
    this.#done = this.#live().catch((error: unknown) => this.#waits("CreateContainerError", String(error)));
  }

  /** Undefined: the container does not run, or its node is out of reach. */
  get process(): PodProcess | undefined {
    return this.#isLost ? undefined : this.#process;
  }

  /** What the container has printed; undefined: it has not started. */
  get log(): ContainerStreams | undefined {
    return this.#process?.streams;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  async #live(): Promise<void> {
    const { store, node, scenario, images, network } = this.#parts;
    const [container] = this.pod.spec?.containers ?? [];
    if (container === undefined) return;
    if (scenario?.kind === "unschedulable")
      return this.#status((status) => podStatus.unschedulable(status, scenario.message));
    this.#update((pod) => {
      (pod.spec as Record<string, unknown>).nodeName = node;
      podStatus.scheduled(pod.status as podStatus.WireStatus);
    });
    if (scenario?.kind === "waits") return this.#waits(scenario.reason, scenario.message);
    this.#waits("ContainerCreating");
    if (!images.has(container.image ?? "")) return this.#lacksImage(container.image ?? "", container.imagePullPolicy);
    const isForbiddenRoot =
      (container.securityContext?.runAsNonRoot ?? this.pod.spec?.securityContext?.runAsNonRoot) === true &&
      (container.securityContext?.runAsUser ?? this.pod.spec?.securityContext?.runAsUser ?? 0) === 0;
    const why = "container has runAsNonRoot and image will run as root";
    if (isForbiddenRoot) return this.#waits("CreateContainerConfigError", why);
    const findConfigMap = (name: string) =>
      store.find(configMaps, this.pod.metadata?.namespace ?? "", name) as V1ConfigMap | undefined;
    const env = new Map<string, string>();
    for (const { name, value = "", valueFrom } of container.env ?? []) {
      const key = valueFrom?.configMapKeyRef;
      const missing = key !== undefined && findConfigMap(key.name ?? "") === undefined;
      if (missing) return this.#waits("CreateContainerConfigError", `configmap "${key.name}" not found`);
      env.set(name, key === undefined ? value : (findConfigMap(key.name ?? "")?.data?.[key.key] ?? ""));
    }
    try {
      this.#process = await PodProcess.start({
        ...{ pod: this.pod, container, findConfigMap, env, cgroups: this.#parts.cgroups },
        directory: join(this.#parts.directory, this.pod.metadata?.uid ?? ""),
        cgroupName: this.#parts.cgroupName,
        plug: network && ((pid) => network.plug(pid, this.pod as unknown as ApiObject, this.#parts.podIp)),
      });
    } catch (error) {
      if (!(error instanceof MissingVolume)) throw error;
      return; // it waits in ContainerCreating, and an event says why
    }
    await this.#run(this.#process);
  }

  async #run(container: PodProcess): Promise<void> {
    this.#startedAt = timestamp();
    const { network, podIp } = this.#parts;
    const podIps = network === undefined ? [podIp] : podAddresses(podIp);
    if (this.#isEnding) container.signal("SIGKILL");
    else
      this.#status((status) =>
        podStatus.running(status, this.pod, { startedAt: this.#startedAt, podIps, hostIp: "10.0.0.1" }),
      );
    const seconds = this.pod.spec?.activeDeadlineSeconds;
    if (seconds !== undefined) {
      const message = "Pod was active on the node longer than the specified deadline";
      this.#deadline = setTimeout(() => this.fail("DeadlineExceeded", message), seconds * 1000);
    }
    const exit = await container.exited;
    clearTimeout(this.#deadline);
    clearTimeout(this.#grace);
    await container[Symbol.asyncDispose]();
    if (this.#isLost) return; // nobody hears of it
    this.#status((status) => podStatus.ended(status, this.pod, { ...endOf(exit), startedAt: this.#startedAt }));
    if (this.#isEnding) this.#remove();
  }

  /** The node ends the pod, and its object stays: evicted, or past its deadline. */
  fail(reason: string, message: string): void {
    this.#status((status) => Object.assign(status, { phase: "Failed", reason, message }));
    this.#process?.signal("SIGKILL");
  }

  /** The OS kills the container for its memory, as far as anybody can see. */
  outOfMemory(): void {
    const terminated = { exitCode: 137, reason: "OOMKilled", startedAt: this.#startedAt };
    this.#status((status) => podStatus.ended(status, this.pod, terminated));
    this.#isLost = true; // what the kubelet has said stands
    this.#process?.signal("SIGKILL");
  }

  /** Nobody reaches the pod any more, and nothing that it does is heard of. */
  lose(): void {
    this.#isLost = true;
    this.#process?.signal("SIGKILL"); // nobody can tell whether it still runs
  }

  /** Somebody has deleted the pod: its programs get a signal, and are killed when their time is over. */
  end(graceSeconds: number): void {
    if (this.#isLost || this.#isEnding) return;
    this.#isEnding = true;
    if (this.#process === undefined) {
      this.#remove();
      return;
    }
    this.#process.signal("SIGTERM");
    this.#grace = setTimeout(() => this.#process?.signal("SIGKILL"), graceSeconds * 1000);
  }

  /** The object is gone, so nothing may run. */
  async kill(): Promise<void> {
    this.#isEnding = true;
    clearTimeout(this.#deadline);
    clearTimeout(this.#grace);
    this.#process?.signal("SIGKILL");
    await this.#done;
  }

  #lacksImage(image: string, policy: string | undefined): void {
    if (policy === "Never") {
      this.#waits("ErrImageNeverPull", `Container image "${image}" is not present with pull policy of Never`);
      return;
    }
    const message = `rpc error: code = NotFound desc = failed to pull and unpack image "${image}": not found`;
    this.#waits("ErrImagePull", message);
    this.#waits("ImagePullBackOff", `Back-off pulling image "${image}"`);
  }

  #waits(reason: string, message?: string): void {
    const why = { reason, ...(message === undefined ? {} : { message }) };
    this.#status((status) => podStatus.waiting(status, this.pod, why));
  }

  #status(change: (status: podStatus.WireStatus) => void): void {
    this.#update((pod) => change(pod.status as podStatus.WireStatus));
  }

  #update(change: (pod: ApiObject) => void): void {
    const { namespace = "", name = "", uid } = this.pod.metadata ?? {};
    // another pod may have the same name by now
    if (this.#parts.store.find(pods, namespace, name)?.metadata.uid !== uid) return;
    this.#parts.store.update(pods, namespace, name, change);
  }

  #remove(): void {
    const { namespace = "", name = "", uid } = this.pod.metadata ?? {};
    if (this.#parts.store.find(pods, namespace, name)?.metadata.uid === uid)
      this.#parts.store.remove(pods, namespace, name);
  }
}

function endOf({ exitCode, hasRunOutOfMemory, message }: ContainerExit): Omit<podStatus.Ended, "startedAt"> {
  if (hasRunOutOfMemory && exitCode !== 0) return { exitCode, reason: "OOMKilled", message };
  return { exitCode, reason: exitCode === 0 ? "Completed" : "Error", message };
}
