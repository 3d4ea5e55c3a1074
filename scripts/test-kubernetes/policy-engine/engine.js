import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { CoreV1Api, KubeConfig, NetworkingV1Api, Watch } from "@kubernetes/client-node";
import { run } from "../command.js";
import { filterOf, isolationOf } from "./isolation.js";

/**
 * A policy engine for tests. Real ones (Calico, Cilium …) cannot be built here. It is real in what counts: packets of a pod that a
 * deny-all policy selects are dropped by the Linux kernel, from before the pod's first program. It is fake in everything else.
 */
export class FakePolicyEngine {
  #core;
  #network;
  #watch;
  #pidOf;
  #server;
  #watching;
  /** container id → pod */
  #pods = new Map();
  #turn = Promise.resolve();
  #isClosed = false;

  /** @param {{ kubeconfig: string, socket: string, pidOf: (node: string) => number }} options pidOf: the process that holds a node */
  static async start({ kubeconfig, socket, pidOf }) {
    const engine = new FakePolicyEngine();
    const config = new KubeConfig();
    config.loadFromFile(kubeconfig);
    engine.#core = config.makeApiClient(CoreV1Api);
    engine.#network = config.makeApiClient(NetworkingV1Api);
    engine.#watch = new Watch(config);
    engine.#pidOf = pidOf;
    engine.#server = createServer((connection) => engine.#answer(connection));
    await new Promise((resolve, reject) => engine.#server.once("error", reject).listen(socket, resolve));
    engine.#follow();
    return engine;
  }

  close() {
    this.#isClosed = true;
    this.#watching?.abort();
    this.#server.close();
  }

  #answer(connection) {
    connection.on("error", () => {});
    createInterface({ input: connection }).on("line", async (line) => {
      const problem = await this.#take(JSON.parse(line)).then(
        () => undefined,
        (error) => String(error.message ?? error),
      );
      connection.end(`${JSON.stringify(problem === undefined ? {} : { problem })}\n`);
    });
  }

  async #take({ command, container, ...pod }) {
    if (command === "DEL") return void this.#pods.delete(container);
    const read = await this.#core.readNamespacedPod({ name: pod.pod, namespace: pod.namespace });
    const entry = { ...pod, labels: read.metadata?.labels ?? {} };
    this.#pods.set(container, entry);
    await this.#filter(entry);
  }

  async #filter(pod) {
    const { items } = await this.#network.listNamespacedNetworkPolicy({ namespace: pod.namespace });
    const isolation = isolationOf(pod, items);
    if (isolation.unknown.length > 0) {
      console.error(`fake policy engine: no exceptions are known: ${isolation.unknown.join(", ")}`);
    }
    const node = ["nsenter", "--target", String(this.#pidOf(pod.node)), "--mount", "--"];
    for (const restore of ["iptables-restore", "ip6tables-restore"]) {
      const text = filterOf(isolation);
      await run([...node, "nsenter", `--net=${pod.netns}`, "--", restore], { input: text, timeoutMs: 15_000 });
    }
  }

  /** Filters every pod anew when a policy has changed. */
  #follow() {
    if (this.#isClosed) return;
    const again = () => {
      if (!this.#isClosed) setTimeout(() => this.#follow(), 500);
    };
    const changed = () => {
      this.#turn = this.#turn.then(async () => {
        for (const pod of this.#pods.values()) await this.#filter(pod).catch(() => {}); // it may be gone by now
      });
    };
    this.#watch.watch("/apis/networking.k8s.io/v1/networkpolicies", {}, changed, again).then((watching) => {
      this.#watching = watching;
    }, again);
  }
}
