import { execFileSync } from "node:child_process";
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { Cleanup } from "../../src/lib/cleanup.ts";
import {
  type AddressFacts,
  addressFacts,
  parseEngineAddress,
} from "../../src/runners/container/engine/engine-address.ts";
import { EngineClient } from "../../src/runners/container/engine/engine-client.ts";
import type { Probe } from "../../src/runners/runner.ts";
import { startContainerd, startDocker } from "./docker-daemon.ts";
import { type EngineHome, openEngineHome } from "./engine-home.ts";
import type { EngineProcess } from "./engine-process.ts";
import { findProgram } from "./find-program.ts";
import { importHostPython } from "./host-python-image.ts";
import { marked } from "./process-cells.ts";

export const image = "codecell-faults:latest";

/** Whether this machine can run a private Docker daemon that a test may kill, stop and fill. */
export function privateDockerProbe(): Probe {
  const hint = "run the tests as root on Linux with dockerd, containerd and runc installed";
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    return { available: false, reason: "a daemon of a test's own needs root", hint };
  const lacking = ["dockerd", "containerd", "runc"].filter((name) => !findProgram(name));
  if (lacking.length > 0) return { available: false, reason: `${lacking.join(", ")} not installed`, hint };
  return { available: true, version: "private", guarantees: [] };
}

export interface ListedContainer {
  readonly Id: string;
  readonly Names: readonly string[];
  readonly State: string;
  readonly Labels: Readonly<Record<string, string>>;
}

/** A Docker daemon with its own data, sockets and containers. Its containerd is a separate process that outlives it. */
export class PrivateDocker implements AsyncDisposable {
  readonly host: string;
  readonly addresses: AddressFacts;
  readonly client: EngineClient;
  readonly #home: EngineHome;
  readonly #containerd: EngineProcess;
  readonly #cleanup: Cleanup;
  #daemon: EngineProcess | undefined;

  private constructor(home: EngineHome, containerd: EngineProcess, cleanup: Cleanup) {
    this.#home = home;
    this.#containerd = containerd;
    this.#cleanup = cleanup;
    this.host = `unix://${home.directory}/docker.sock`;
    this.addresses = addressFacts({ DOCKER_HOST: this.host });
    const address = parseEngineAddress("docker", this.host, "the test");
    if (!address) throw new Error("not an address");
    this.client = new EngineClient(address);
  }

  /** `dataBytes`: its data is on a tmpfs of this size, so that a test can fill it. `hasImage`: false for a test that imports its own. */
  static async start(options: { dataBytes?: number; hasImage?: boolean } = {}): Promise<PrivateDocker> {
    await using cleanup = new Cleanup();
    const home = await openEngineHome();
    cleanup.defer(() => home[Symbol.asyncDispose]());
    if (options.dataBytes !== undefined) {
      const data = join(home.directory, "data");
      await mkdir(data);
      execFileSync("mount", ["-t", "tmpfs", "-o", `size=${options.dataBytes}`, "none", data]);
    }
    const containerd = await startContainerd(join(home.directory, "containerd"));
    cleanup.defer(() => containerd[Symbol.asyncDispose]());
    const docker = new PrivateDocker(home, containerd, cleanup.move());
    try {
      await docker.up();
      if (options.hasImage ?? true) await importHostPython(docker.client, image);
      return docker;
    } catch (error) {
      await docker[Symbol.asyncDispose]();
      throw error;
    }
  }

  static get hasGvisor(): boolean {
    return findProgram("runsc") !== undefined;
  }

  /** Fills the disk of its data to the last byte. The returned function frees it again. */
  async fill(): Promise<() => Promise<void>> {
    const path = join(this.#home.directory, "data", "filler");
    const file = await open(path, "w");
    try {
      for (const size of [1 << 20, 4096]) {
        const piece = Buffer.alloc(size, 1);
        while (
          await file.write(piece).then(
            ({ bytesWritten }) => bytesWritten === size,
            () => false,
          )
        );
      }
    } finally {
      await file.close();
    }
    return () => rm(path);
  }

  /** Starts or restarts the daemon, and waits until it answers. */
  async up(): Promise<void> {
    const { directory, cgroup } = this.#home;
    this.#daemon = await startDocker(directory, { cgroup, containerd: this.#containerd });
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#daemon) process.kill(this.#daemon.pid, signal);
  }

  /** Kills it without a shutdown, like a power cut. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.#daemon?.[Symbol.asyncDispose]();
    this.#daemon = undefined;
    await rm(join(this.#home.directory, "docker.pid"), { force: true });
  }

  containers(): Promise<ListedContainer[]> {
    return this.client.json<ListedContainer[]>({ path: "/containers/json", query: { all: true } });
  }

  async request(method: "POST" | "DELETE", path: string, json?: unknown): Promise<void> {
    await this.client.bytes({ method, path, ...(json === undefined ? {} : { json }) });
  }

  /** Host processes of this daemon's containers: their shims have its directory in their command line. */
  shims(): number[] {
    return marked(this.#home.directory)
      .filter(({ command }) => command.includes("containerd-shim"))
      .map(({ pid }) => pid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#daemon) this.signal("SIGCONT");
    await this.#daemon?.[Symbol.asyncDispose]();
    for (const pid of this.shims()) process.kill(pid, "SIGKILL");
    await this.#cleanup[Symbol.asyncDispose]();
  }
}
