import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { imageArchive } from "../images.js";
import { releaseLock, takeLock, updateLock } from "../lock.js";
import { makeCgroups, removeCgroups } from "./cgroups.js";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const endMs = 20_000;

/**
 * A cluster of two nodes in network, mount and pid namespaces of its own. When it ends, however it ends, its processes, mounts,
 * interfaces and addresses are gone with the namespaces; cgroups and files are removed here, or by the next start after `kill -9`.
 */
export class TestCluster {
  #child;
  #ended;
  #directory;
  #closing;

  /** @param {{ build: string, policies: "ignored" | "enforced", signal: AbortSignal }} options */
  static async start({ build, policies, signal }) {
    const cluster = new TestCluster();
    const left = takeLock();
    try {
      await removeCgroups();
      if (left?.directory) await rm(left.directory, { recursive: true, force: true });
      cluster.#directory = await mkdtemp(join(tmpdir(), "codecell-kubernetes-"));
      await chmod(cluster.#directory, 0o711); // root of a pod's user namespace is nobody here, and its files are below
      updateLock({ directory: cluster.#directory });
      await makeCgroups();
      const images = await imageArchive(build); // here: no mirror can be reached from the cluster's network
      const plan = JSON.stringify({ directory: cluster.#directory, build, images, policies });
      signal.throwIfAborted();
      await cluster.#enter([process.execPath, here("inside.js"), plan], signal);
      updateLock({ kubeconfig: cluster.kubeconfig, inside: cluster.inside });
      return cluster;
    } catch (error) {
      await cluster.close();
      throw error;
    }
  }

  get directory() {
    return this.#directory;
  }

  get kubeconfig() {
    return join(this.#directory, "pki", "admin.kubeconfig");
  }

  /** Settles when the cluster has ended by itself. */
  get ended() {
    return this.#ended;
  }

  /** Process 1 of the cluster, by its number outside. */
  get inside() {
    return childrenOf(this.#child.pid)[0];
  }

  close() {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #enter(command, signal) {
    const namespaces = [
      "--net",
      "--mount",
      "--propagation",
      "private",
      "--pid",
      "--fork",
      "--kill-child",
      "--mount-proc",
    ];
    // the kernel ends it with us: kill -9 runs no handlers
    const argv = ["--pdeathsig", "KILL", "unshare", ...namespaces, "bash", here("init.sh"), ...command];
    this.#child = spawn("setpriv", argv, { stdio: ["pipe", "pipe", "inherit"], detached: true });
    this.#ended = new Promise((resolve) => this.#child.once("close", (code) => resolve(code)));
    const ready = new Promise((resolve) => this.#child.stdout.once("data", () => resolve("ready")));
    const stop = () => this.#child.stdin.end();
    signal.addEventListener("abort", stop, { once: true });
    const first = await Promise.race([ready, this.#ended]);
    signal.removeEventListener("abort", stop);
    signal.throwIfAborted();
    if (first !== "ready") throw new Error(`the cluster did not come up (exit code ${first})`);
  }

  async #close() {
    if (this.#child && this.#child.exitCode === null) {
      this.#child.stdin.end();
      const late = setTimeout(() => this.#child.kill("SIGKILL"), endMs);
      await this.#ended;
      clearTimeout(late);
    }
    await removeCgroups();
    if (this.#directory) await rm(this.#directory, { recursive: true, force: true, maxRetries: 5 });
    releaseLock();
  }
}

function childrenOf(pid) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((one) => {
      try {
        return Number(readFileSync(`/proc/${one}/stat`, "utf8").split(") ")[1].split(" ")[1]) === pid;
      } catch {
        return false; // it has exited
      }
    });
}
