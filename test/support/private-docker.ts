import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cleanup } from "../../src/lib/cleanup.ts";
import { type AddressFacts, addressFacts, parseEngineAddress } from "../../src/runners/container/engine-address.ts";
import { EngineClient } from "../../src/runners/container/engine-client.ts";
import type { Probe } from "../../src/runners/runner.ts";
import { importHostPython } from "./host-python-image.ts";
import { hostProcesses, idle } from "./process-cells.ts";

const upMs = 30_000;
const downMs = 20_000;
export const image = "codecell-faults:latest";

/** Whether this machine can have a Docker daemon of a test's own, which the test may kill, stop and fill. */
export function privateDockerProbe(): Probe {
  const hint = "run the tests as root on Linux with dockerd, containerd and runc installed";
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    return { available: false, reason: "a daemon of a test's own needs root", hint };
  const lacking = ["dockerd", "containerd", "runc"].filter((name) => !onPath(name));
  if (lacking.length > 0) return { available: false, reason: `${lacking.join(", ")} not installed`, hint };
  return { available: true, version: "private", guarantees: [] };
}

export interface ListedContainer {
  readonly Id: string;
  readonly Names: readonly string[];
  readonly State: string;
  readonly Labels: Readonly<Record<string, string>>;
}

/** A Docker daemon with its own data, sockets and containers. */
export class PrivateDocker implements AsyncDisposable {
  readonly directory: string;
  readonly addresses: AddressFacts;
  readonly client: EngineClient;
  readonly #cleanup: Cleanup;
  #containerd: ChildProcess | undefined;
  #daemon: ChildProcess | undefined;

  private constructor(directory: string, cleanup: Cleanup) {
    this.directory = directory;
    this.#cleanup = cleanup;
    this.addresses = addressFacts({ DOCKER_HOST: this.host });
    const address = parseEngineAddress("docker", this.host, "the test");
    if (!address) throw new Error("not an address");
    this.client = new EngineClient(address);
  }

  get host(): string {
    return `unix://${this.directory}/docker.sock`;
  }

  /** `dataBytes`: its data lies in memory of this size, so that a test can fill it. */
  static async start(options: { dataBytes?: number } = {}): Promise<PrivateDocker> {
    await using cleanup = new Cleanup();
    const directory = await mkdtemp(join(tmpdir(), "cc-docker-"));
    cleanup.defer(() => rm(directory, { recursive: true, force: true }));
    await chmod(directory, 0o711);
    await mkdir(join(directory, "data"));
    if (options.dataBytes !== undefined) {
      execFileSync("mount", ["-t", "tmpfs", "-o", `size=${options.dataBytes}`, "none", join(directory, "data")]);
    }
    // whatever was mounted below, also by a daemon that was killed, innermost first
    cleanup.defer(() => unmountBelow(directory));
    const runsc = onPath("runsc");
    const runtimes = runsc ? { runsc: { path: runsc, runtimeArgs: ["--platform=ptrace", "--network=none"] } } : {};
    await writeFile(
      join(directory, "containerd.toml"),
      `version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n[plugins."io.containerd.internal.v1.opt"]\npath = "${directory}/opt"\n`,
    );
    await writeFile(join(directory, "daemon.json"), JSON.stringify({ runtimes }));
    const docker = new PrivateDocker(directory, cleanup.move());
    try {
      await docker.up();
      await importHostPython(docker.client, image);
      return docker;
    } catch (error) {
      await docker[Symbol.asyncDispose]();
      throw error;
    }
  }

  static get hasGvisor(): boolean {
    return onPath("runsc") !== undefined;
  }

  /** Fills the disk of its data to the last byte; what comes back frees it again. */
  async fill(): Promise<() => Promise<void>> {
    const path = join(this.directory, "data", "filler");
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

  /** Starts the daemon, again after a kill, and waits until it answers. */
  async up(): Promise<void> {
    const at = (name: string) => join(this.directory, name);
    // As on a machine of its own: containerd is another service, and outlives the daemon.
    this.#containerd ??= logged(at("containerd.log"), "containerd", [
      ...["--config", at("containerd.toml"), "--root", at("containerd"), "--state", at("state")],
      ...["--address", at("containerd.sock")],
    ]);
    await until(() => existsSync(at("containerd.sock")), at("containerd.log"));
    this.#daemon = logged(at("dockerd.log"), "dockerd", [
      ...["--config-file", at("daemon.json"), "--data-root", at("data"), "--exec-root", at("exec")],
      ...["--host", this.host, "--pidfile", at("docker.pid"), "--containerd", at("containerd.sock")],
      ...["--bridge=none", "--iptables=false", "--ip6tables=false"],
    ]);
    await until(() => this.answers(), at("dockerd.log"));
  }

  async answers(): Promise<boolean> {
    return this.client.bytes({ path: "/_ping", timeoutMs: 1_000 }).then(
      () => true,
      () => false,
    );
  }

  signal(signal: NodeJS.Signals): void {
    this.#daemon?.kill(signal);
  }

  /** As a power cut does it: no goodbye to anybody. */
  async kill(): Promise<void> {
    const daemon = this.#daemon;
    if (!daemon || daemon.exitCode !== null || daemon.signalCode !== null) return;
    const exited = once(daemon, "exit");
    daemon.kill("SIGKILL");
    await exited;
    await rm(join(this.directory, "docker.pid"), { force: true });
  }

  containers(): Promise<ListedContainer[]> {
    return this.client.json<ListedContainer[]>({ path: "/containers/json", query: { all: true } });
  }

  async request(method: "POST" | "DELETE", path: string, json?: unknown): Promise<void> {
    await this.client.bytes({ method, path, ...(json === undefined ? {} : { json }) });
  }

  /** Processes of the host that belong to containers of this daemon: their shims carry its directory. */
  shims(): number[] {
    return hostProcesses()
      .filter(({ command }) => command.includes("containerd-shim") && command.includes(this.directory))
      .map(({ pid }) => pid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.signal("SIGCONT");
    await ended(this.#daemon);
    for (const pid of this.shims()) process.kill(pid, "SIGKILL");
    await ended(this.#containerd);
    await this.#cleanup[Symbol.asyncDispose]();
  }
}

function logged(log: string, command: string, args: readonly string[]): ChildProcess {
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"] });
  child.stderr.pipe(createWriteStream(log, { flags: "a" }));
  return child;
}

async function until(holds: () => boolean | Promise<boolean>, log: string): Promise<void> {
  const end = performance.now() + upMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`it did not come up: ${readFileSync(log, "utf8").slice(-2000)}`);
    await idle(20);
  }
}

async function ended(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), downMs);
  await exited;
  clearTimeout(late);
}

function onPath(name: string): string | undefined {
  return (process.env.PATH ?? "")
    .split(":")
    .concat("/usr/sbin", "/sbin")
    .map((directory) => join(directory, name))
    .find((path) => existsSync(path));
}

function unmountBelow(directory: string): void {
  const targets = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((target) => target.startsWith(`${directory}/`));
  for (const target of targets.reverse()) execFileSync("umount", ["--lazy", target]);
}
