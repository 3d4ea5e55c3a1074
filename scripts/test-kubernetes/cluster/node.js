import { existsSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../command.js";
import { apiAddress, apiPort, bridge, serviceAddress } from "./layout.js";
import { containerdConfig, kubeletConfig, networkConfig, runscConfig } from "./node-settings.js";
import { waitUntil } from "./wait-until.js";

const holder = fileURLToPath(new URL("node.sh", import.meta.url));

/** Debian has no shim of gVisor for containerd, so a build has it only if somebody put it there. */
export function buildHasGvisor(build) {
  return ["runsc", "containerd-shim-runsc-v1"].every((name) => existsSync(join(build, "bin", name)));
}

/** One node: namespaces of its own with containerd and kubelet in them. */
export class ClusterNode {
  #cluster;
  #node;
  #directory;

  /**
   * @param {{ directory: string, build: string, minor: number, plugins: string, engineSocket: string, processes: import("./processes.js").Processes }} cluster
   * @param {typeof import("./layout.js").nodes[number]} node
   */
  constructor(cluster, node) {
    this.#cluster = cluster;
    this.#node = node;
    this.#directory = join(cluster.directory, node.name);
  }

  get name() {
    return this.#node.name;
  }

  /** @param {{ images: string, policies: "ignored" | "enforced" }} options */
  async start({ images, policies }) {
    const { processes } = this.#cluster;
    const { name } = this.#node;
    await mkdir(this.#directory, { recursive: true });
    const namespaces = ["unshare", "--net", "--mount", "--propagation", "private"];
    await processes.start(name, [...namespaces, "bash", holder, this.#directory]);
    await waitUntil(`${name} has its namespaces`, async () => existsSync(join(this.#directory, "ready")));
    await this.#connect();
    await this.#startContainerd({ images, policies });
    await this.#startKubelet();
  }

  /** As if somebody pulled its network cable: pods go on, and nobody can reach them. */
  async unplug() {
    await run(["ip", "link", "set", this.#node.cable, "down"]);
  }

  async plug() {
    await run(["ip", "link", "set", this.#node.cable, "up"]);
  }

  /** @param {"ignored" | "enforced"} policies for pods that start from now on */
  async setPolicies(policies) {
    const { engineSocket } = this.#cluster;
    const file = join(this.#directory, "net.d", "10-codecell-test.conflist");
    await mkdir(join(this.#directory, "net.d"), { recursive: true });
    const text = networkConfig({ ...this.#node, directory: this.#directory, policies, engineSocket });
    await writeFile(`${file}.new`, text);
    await rename(`${file}.new`, file);
  }

  /** The same command in the node's namespaces. */
  #inside(command) {
    const pid = String(this.#cluster.processes.pid(this.#node.name));
    return ["nsenter", "--target", pid, "--net", "--mount", "--", ...command];
  }

  async #connect() {
    const { name, address, pods, cable } = this.#node;
    const pid = String(this.#cluster.processes.pid(name));
    await run(["ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", pid]);
    await run(["ip", "link", "set", cable, "master", bridge, "up"]);
    await run(this.#inside(["ip", "address", "add", `${address}/24`, "dev", "eth0"]));
    await run(this.#inside(["ip", "link", "set", "eth0", "up"]));
    await run(this.#inside(["ip", "route", "add", "default", "via", apiAddress]));
    await run(["ip", "route", "add", pods, "via", address]);
    // what kube-proxy would do for the only service
    for (const chain of ["PREROUTING", "OUTPUT"]) {
      const match = ["-d", serviceAddress, "-p", "tcp", "--dport", "443"];
      const target = ["-j", "DNAT", "--to-destination", `${apiAddress}:${apiPort}`];
      await run(this.#inside(["iptables", "-t", "nat", "-A", chain, ...match, ...target]));
    }
  }

  async #startContainerd({ images, policies }) {
    const { build, processes, plugins } = this.#cluster;
    const socket = join(this.#directory, "containerd.sock");
    const config = join(this.#directory, "containerd.toml");
    await this.setPolicies(policies);
    const program = join(build, "bin", "runsc");
    const hasGvisor = buildHasGvisor(build);
    await writeFile(config, containerdConfig({ directory: this.#directory, plugins, hasGvisor }));
    await writeFile(join(this.#directory, "runsc.toml"), runscConfig({ directory: this.#directory, program }));
    const env = { PATH: `${join(build, "bin")}:${process.env.PATH}` }; // the build may have its own containerd and runtimes
    await processes.start(`containerd-${this.name}`, this.#inside(["containerd", "--config", config]), env);
    const ctr = this.#inside(["ctr", "--address", socket, "--namespace", "k8s.io"]);
    await waitUntil(`containerd of ${this.name}`, () => run([...ctr, "version"], { env }));
    await run([...ctr, "images", "import", images], { env, timeoutMs: 180_000 });
  }

  async #startKubelet() {
    const { directory, build, minor, processes } = this.#cluster;
    const { name, address, cgroup } = this.#node;
    const socket = join(this.#directory, "containerd.sock");
    const config = join(this.#directory, "kubelet.json");
    const authority = join(directory, "pki", "ca.crt");
    await writeFile(config, kubeletConfig({ address, cgroup, authority, minor }));
    await processes.start(
      `kubelet-${name}`,
      this.#inside([
        join(build, "bin", "kubelet"),
        ...[`--config=${config}`, `--kubeconfig=${join(directory, "pki", `${name}.kubeconfig`)}`],
        ...[`--root-dir=${join(this.#directory, "kubelet")}`, `--cert-dir=${join(this.#directory, "pki")}`],
        ...[`--hostname-override=${name}`, `--node-ip=${address}`, `--container-runtime-endpoint=unix://${socket}`],
        ...(minor < 24 ? ["--container-runtime=remote"] : []), // later there is no other
      ]),
    );
  }
}
