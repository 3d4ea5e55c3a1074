import { mkdir, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Cleanup } from "../../src/lib/cleanup.ts";
import { type EngineProcess, startEngineProcess } from "./engine-process.ts";
import { findProgram } from "./find-program.ts";

export interface DockerOptions {
  /** the parent control group of its containers */
  readonly cgroup: string;
  /** a containerd that outlives the daemon, as on a real machine; default: the daemon starts one that ends with it */
  readonly containerd?: EngineProcess;
}

/** A Docker daemon below one directory, without bridge and firewall rules. gVisor is a second runtime where installed. */
export async function startDocker(
  directory: string,
  { cgroup, containerd }: DockerOptions,
): Promise<EngineProcess & { host: string }> {
  await using cleanup = new Cleanup();
  await mkdir(directory, { recursive: true });
  const socket = join(directory, "docker.sock");
  const config = join(directory, "daemon.json");
  const runsc = findProgram("runsc");
  // gVisor's other platforms need KVM or a recent Linux kernel; ptrace works everywhere
  const gvisor = { path: runsc, runtimeArgs: ["--platform=ptrace", "--network=none"] };
  await writeFile(config, JSON.stringify(runsc === undefined ? {} : { runtimes: { runsc: gvisor } }));
  const key = "/etc/docker/key.json"; // old daemons write it, wherever their directories are
  const hadKey = (await stat(key).catch(() => undefined)) !== undefined;
  if (!hadKey) cleanup.defer(() => unlink(key).catch(() => {}));
  const daemon = await startEngineProcess(
    [
      "dockerd",
      ...["--config-file", config, "--host", `unix://${socket}`, "--pidfile", join(directory, "docker.pid")],
      ...["--data-root", join(directory, "data"), "--exec-root", join(directory, "exec")],
      ...["--bridge=none", "--iptables=false", "--ip6tables=false", "--cgroup-parent", `/${cgroup}`],
      ...(containerd ? ["--containerd", containerd.socket] : []),
    ],
    { socket, ...(containerd ? { mountsOf: containerd } : {}) },
  );
  cleanup.defer(() => daemon[Symbol.asyncDispose]());
  const owned = cleanup.move();
  return { ...daemon, host: `unix://${socket}`, [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose]() };
}

/** A containerd below one directory. */
export async function startContainerd(directory: string): Promise<EngineProcess> {
  await mkdir(directory, { recursive: true });
  const at = (name: string) => join(directory, name);
  const config = [
    "version = 2",
    'disabled_plugins = ["io.containerd.grpc.v1.cri"]',
    '[plugins."io.containerd.internal.v1.opt"]',
    `path = "${at("opt")}"`,
  ];
  await writeFile(at("config.toml"), `${config.join("\n")}\n`);
  const places = ["--config", at("config.toml"), "--root", at("root"), "--state", at("state"), "--address", at("sock")];
  return await startEngineProcess(["containerd", ...places], { socket: at("sock") });
}
