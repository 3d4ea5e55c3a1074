import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import type { V1NetworkPolicy } from "@kubernetes/client-node";
import type { ApiObject } from "../api/api-object.ts";
import type { ObjectStore } from "../api/object-store.ts";
import { networkPolicies, pods } from "../api/resource-table.ts";

/**
 * What the cluster's network does with NetworkPolicies. Many accept and ignore them. `absent`: pods have nothing but loopback,
 * which needs no rights.
 */
export type PolicyEngine = "enforces" | "enforces for IPv4" | "ignores" | "absent";

/** Whether this machine has IPv6, and so the pods. */
export const hasIpv6 = existsSync("/proc/net/if_inet6");

/** The addresses of the pod that got the first one. */
export function podAddresses(first: string): string[] {
  return hasIpv6 ? [first, `fd00:244::${first.split(".").slice(2).join(":")}`] : [first];
}

interface Plug {
  readonly port: string;
  readonly pid: number;
  readonly address: string;
  readonly uid: string;
  isOpen: boolean;
}

/**
 * The network of all pods: a bridge in a network namespace of its own, which no packet leaves. A policy that selects a pod and
 * gives no rule for a direction cuts its whole link, or takes its IPv4 address; rules with peers and ports are not understood.
 */
export class PodNetwork implements AsyncDisposable {
  readonly #store: ObjectStore;
  readonly #holder: ChildProcess;
  readonly #plugs = new Map<string, Plug>();
  readonly #unsubscribe: () => void;
  #engine: PolicyEngine;
  #count = 0;
  #commands: Promise<void> = Promise.resolve();

  private constructor(store: ObjectStore, holder: ChildProcess, engine: PolicyEngine) {
    this.#store = store;
    this.#holder = holder;
    this.#engine = engine;
    this.#unsubscribe = store.subscribe(({ resource, type, object }) => {
      if (resource === networkPolicies) void this.#apply();
      else if (resource === pods && type === "DELETED") this.#plugs.delete(object.metadata.uid);
    });
  }

  static async open(store: ObjectStore, engine: PolicyEngine): Promise<PodNetwork> {
    const bridge = "ip link add name pods type bridge && ip addr add 10.244.0.1/16 dev pods && ip link set pods up";
    const script = `${bridge} && echo up && exec sleep infinity`;
    const holder = spawn("unshare", ["--net", "setpriv", "--pdeathsig=KILL", "sh", "-c", script], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [said] = (await Promise.race([once(holder.stdout, "data"), once(holder, "exit")])) as unknown[];
    if (String(said).trim() !== "up") throw new Error(`the network of the pods failed: ${holder.stderr.read()}`);
    return new PodNetwork(store, holder, engine);
  }

  /** From now on, policies hold or do not. */
  async setEngine(engine: "enforces" | "ignores"): Promise<void> {
    this.#engine = engine;
    await this.#apply();
  }

  /** Gives the network namespace of a process an interface with the pod's addresses. */
  async plug(pid: number, pod: ApiObject, address: string): Promise<void> {
    const number = ++this.#count; // another pod may get its number meanwhile
    const plug = { port: `pod${number}`, pid, address, uid: pod.metadata.uid, isOpen: this.#isOpen(pod) };
    const hasLink = plug.isOpen || this.#closesIpv4;
    await ip(this.#holderPid, [
      `link add name ${plug.port} type veth peer name eth0 netns ${pid}`,
      `link set ${plug.port} master pods ${hasLink ? "up" : "down"}`,
    ]);
    const [first, second] = podAddresses(address);
    const ipv6 = [
      "link set eth0 addrgenmode none",
      // without the wait for other owners of an address: there are none
      `addr add ${second}/64 dev eth0 nodad`,
      `addr add fe80::${number.toString(16)}/64 dev eth0 nodad`,
    ];
    const ipv4 = plug.isOpen || !this.#closesIpv4 ? [`addr add ${first}/16 dev eth0`] : [];
    await ip(pid, ["link set lo up", ...(second === undefined ? [] : ipv6), ...ipv4, "link set eth0 up"]);
    this.#plugs.set(plug.uid, plug);
  }

  /** Policies that are written meanwhile are applied one after the other. */
  #apply(): Promise<void> {
    this.#commands = this.#commands.then(async () => {
      for (const pod of this.#store.list(pods, undefined)) {
        const plug = this.#plugs.get(pod.metadata.uid);
        const isOpen = this.#isOpen(pod);
        if (plug === undefined || plug.isOpen === isOpen) continue;
        plug.isOpen = isOpen;
        const change = this.#closesIpv4
          ? ip(plug.pid, [`addr ${isOpen ? "add" : "del"} ${plug.address}/16 dev eth0`])
          : ip(this.#holderPid, [`link set ${plug.port} ${isOpen ? "up" : "down"}`]);
        await change.catch(() => {}); // a pod that exits takes its interface with it
      }
    });
    return this.#commands;
  }

  get #closesIpv4(): boolean {
    return this.#engine === "enforces for IPv4";
  }

  #isOpen({ metadata: { namespace = "", labels = {} } }: ApiObject): boolean {
    if (this.#engine === "ignores" || this.#engine === "absent") return true;
    return !this.#store.list(networkPolicies, namespace).some((object) => {
      const spec = object.spec as V1NetworkPolicy["spec"];
      const wanted = Object.entries(spec?.podSelector?.matchLabels ?? {});
      const closes = (spec?.policyTypes ?? ["Ingress"]).some(
        (one) => !(one === "Egress" ? spec?.egress : spec?.ingress)?.length,
      );
      return closes && wanted.every(([key, value]) => labels[key] === value);
    });
  }

  get #holderPid(): number {
    return this.#holder.pid ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unsubscribe();
    await this.#commands;
    if (this.#holder.exitCode !== null || this.#holder.signalCode !== null) return;
    const gone = once(this.#holder, "exit");
    this.#holder.kill("SIGKILL");
    await gone;
  }
}

/** Runs commands of `ip` in the network namespace of a process. */
async function ip(pid: number, commands: readonly string[]): Promise<void> {
  const child = spawn("nsenter", [`--target=${pid}`, "--net", "--", "ip", "-force", "-batch", "-"], {
    stdio: ["pipe", "ignore", "pipe"],
  });
  child.stdin.end(`${commands.join("\n")}\n`);
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`ip failed: ${child.stderr.read()}`);
}
