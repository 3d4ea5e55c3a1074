import type { V1Pod } from "@kubernetes/client-node";
import type { CgroupSupport } from "../../../../src/runners/process/cgroup/cgroup.ts";
import { type ApiObject, timestamp } from "../api/api-object.ts";
import type { Change, ObjectStore } from "../api/object-store.ts";
import { findResource, pods } from "../api/resource-table.ts";
import type { PodNetwork } from "./pod-network.ts";
import { ended, type WireStatus, withCondition } from "./pod-status.ts";
import { type PodScenario, PodWorker } from "./pod-worker.ts";

export interface ClusterParts {
  readonly store: ObjectStore;
  readonly directory: string;
  readonly nodes: readonly string[];
  readonly images: readonly string[];
  readonly cgroups: CgroupSupport;
  readonly network: PodNetwork | undefined;
}

/** Scheduler, kubelets and node controller in one: it places pods on nodes and runs them on this machine. */
export class ClusterNodes implements AsyncDisposable {
  /** The first that says something about a pod decides. */
  readonly scenarios: ((pod: V1Pod) => PodScenario | undefined)[] = [];
  /** false: `hostUsers: false` means nothing */
  hasUserNamespaces = true;
  readonly #parts: ClusterParts;
  readonly #workers = new Map<string, PodWorker>();
  readonly #lost = new Set<string>();
  readonly #unsubscribe: () => void;
  #placed = 0;

  constructor(parts: ClusterParts) {
    this.#parts = parts;
    const nodes = findResource("", "v1", "nodes");
    if (nodes === undefined) throw new Error("no nodes");
    for (const name of parts.nodes) {
      const metadata = { name, labels: labelsOf(name) };
      const status = { conditions: [{ type: "Ready", status: "True" }] };
      parts.store.create(nodes, "", { metadata, status } as unknown as ApiObject);
    }
    this.#unsubscribe = parts.store.subscribe((change) => this.#follow(change));
  }

  worker(namespace: string, name: string): PodWorker | undefined {
    const uid = this.#parts.store.find(pods, namespace, name)?.metadata.uid;
    return uid === undefined ? undefined : this.#workers.get(uid);
  }

  /** How many containers run. */
  get runningCount(): number {
    return [...this.#workers.values()].filter((one) => one.process !== undefined).length;
  }

  evict(namespace: string, name: string, message = "The node was low on resource: memory. "): void {
    this.#workerOf(namespace, name).fail("Evicted", message);
  }

  outOfMemory(namespace: string, name: string): void {
    this.#workerOf(namespace, name).outOfMemory();
  }

  /** The scheduler makes room for a pod that matters more. */
  preempt(namespace: string, name: string): void {
    this.#parts.store.update(pods, namespace, name, (pod) => {
      const message = "default-scheduler: preempting to accommodate a higher priority pod";
      withCondition(pod.status as WireStatus, "DisruptionTarget", "True", { reason: "PreemptionByScheduler", message });
      Object.assign(pod.metadata, { deletionTimestamp: timestamp(), deletionGracePeriodSeconds: 1 });
    });
  }

  /** The node is unplugged: attached clients hear nothing any more, and nobody learns what became of its pods. */
  unplug(node: string): void {
    this.#lost.add(node);
    for (const worker of this.#workers.values()) if (worker.node === node) worker.lose();
  }

  /** The cluster notices an unplugged node: its pods are not ready, and are deleted. They stay until it comes back. */
  declareLost(node: string): void {
    const time = timestamp();
    const nodes = findResource("", "v1", "nodes");
    if (nodes !== undefined) {
      this.#parts.store.update(nodes, "", node, (object) => {
        const message = "Kubelet stopped posting node status.";
        object.status = { conditions: [{ type: "Ready", status: "Unknown", reason: "NodeStatusUnknown", message }] };
      });
    }
    for (const pod of this.#parts.store.list(pods, undefined)) {
      if ((pod.spec as { nodeName?: string }).nodeName !== node) continue;
      this.#parts.store.update(pods, pod.metadata.namespace ?? "", pod.metadata.name, (object) => {
        withCondition(object.status as WireStatus, "Ready", "False"); // without a reason, as the real one
      });
      this.#parts.store.update(pods, pod.metadata.namespace ?? "", pod.metadata.name, (object) => {
        const message = "Taint manager: deleting due to NoExecute taint";
        const why = { reason: "DeletionByTaintManager", message };
        withCondition(object.status as WireStatus, "DisruptionTarget", "True", why);
        Object.assign(object.metadata, { deletionTimestamp: time, deletionGracePeriodSeconds: 30 });
      });
    }
  }

  /** The node is back: it finishes what was asked of it meanwhile. */
  plugIn(node: string): void {
    this.#lost.delete(node);
    for (const pod of this.#parts.store.list(pods, undefined)) {
      const isHere = (pod.spec as { nodeName?: string }).nodeName === node;
      const { namespace = "", name, uid, deletionTimestamp } = pod.metadata;
      if (!isHere || this.#workers.get(uid)?.isLost !== true) continue;
      if (deletionTimestamp !== undefined) this.#parts.store.remove(pods, namespace, name);
      else this.#parts.store.update(pods, namespace, name, (object) => restarted(object));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unsubscribe();
    await Promise.all([...this.#workers.values()].map((worker) => worker.kill()));
  }

  #workerOf(namespace: string, name: string): PodWorker {
    const worker = this.worker(namespace, name);
    if (worker === undefined) throw new Error(`no pod ${namespace}/${name}`);
    return worker;
  }

  #follow({ type, resource, object }: Change): void {
    if (resource !== pods) return;
    const { uid, deletionGracePeriodSeconds: grace, deletionTimestamp } = object.metadata;
    const worker = this.#workers.get(uid);
    if (this.#parts.nodes.length === 0) return;
    if (type === "ADDED") {
      // after the answer to the client, as on a cluster
      setImmediate(() => this.#place(object as unknown as V1Pod));
    } else if (type === "DELETED") {
      void worker?.kill().finally(() => this.#workers.delete(uid));
    } else if (deletionTimestamp !== undefined && worker !== undefined) {
      worker.end(grace ?? 30);
    }
  }

  #place(pod: V1Pod): void {
    const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
    if (this.#parts.store.find(pods, namespace, name)?.metadata.uid !== uid) return; // deleted meanwhile
    const scenario = this.scenarios.map((one) => one(pod)).find((one) => one !== undefined);
    const nodes = this.#parts.nodes.filter((one) => !this.#lost.has(one) && fits(pod, one));
    this.#placed += 1;
    const node = scenario?.kind === "placed" ? scenario.node : nodes[this.#placed % Math.max(nodes.length, 1)];
    const total = this.#parts.nodes.length;
    const nowhere = `0/${total} nodes are available: ${total} node(s) didn't match Pod's node affinity.`;
    const worker = new PodWorker(this.hasUserNamespaces ? pod : withHostUsers(pod), {
      ...{ store: this.#parts.store, directory: this.#parts.directory, cgroups: this.#parts.cgroups },
      network: this.#parts.network,
      images: new Set(this.#parts.images),
      cgroupName: `codecell-double-${process.pid}-${uid.slice(0, 8)}`,
      node: node ?? "",
      podIp: `10.244.${Math.floor(this.#placed / 250)}.${(this.#placed % 250) + 2}`,
      scenario: node === undefined && scenario === undefined ? { kind: "unschedulable", message: nowhere } : scenario,
    });
    this.#workers.set(uid, worker);
  }
}

function withHostUsers(pod: V1Pod): V1Pod {
  const copy = structuredClone(pod);
  delete copy.spec?.hostUsers;
  return copy;
}

/** A node that was without power finds that its containers have ended. */
function restarted(pod: ApiObject): void {
  const ending = { exitCode: 137, reason: "Error", startedAt: timestamp() };
  ended(pod.status as WireStatus, pod as unknown as V1Pod, ending);
}

function labelsOf(node: string): Record<string, string> {
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  return { "kubernetes.io/hostname": node, "kubernetes.io/os": "linux", "kubernetes.io/arch": arch };
}

function fits({ spec }: V1Pod, node: string): boolean {
  const labels = labelsOf(node);
  return Object.entries(spec?.nodeSelector ?? {}).every(([key, value]) => labels[key] === value);
}
