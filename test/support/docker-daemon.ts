import { mkdir, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Cleanup } from "../../src/lib/cleanup.ts";
import { removeEmptyCgroups } from "./engine-cgroups.ts";
import { type EngineProcess, startEngineProcess } from "./engine-process.ts";

/** A Docker daemon below one directory: no bridge, no firewall rules, gVisor as a second runtime where it is installed. */
export async function startDocker(
  directory: string,
  runsc: string | undefined,
): Promise<EngineProcess & { host: string }> {
  await using cleanup = new Cleanup();
  await mkdir(directory, { recursive: true });
  const socket = join(directory, "docker.sock");
  const config = join(directory, "daemon.json");
  // other platforms of gVisor need KVM or a kernel's leave; this one works everywhere
  const gvisor = { path: runsc, runtimeArgs: ["--platform=ptrace", "--network=none"] };
  await writeFile(config, JSON.stringify(runsc === undefined ? {} : { runtimes: { runsc: gvisor } }));
  const cgroup = `codecell-test-docker-${process.pid}`;
  cleanup.defer(() => removeEmptyCgroups(cgroup));
  const key = "/etc/docker/key.json"; // old daemons write it, whatever their directories are
  const hadKey = (await stat(key).catch(() => undefined)) !== undefined;
  if (!hadKey) cleanup.defer(() => unlink(key).catch(() => {}));
  const daemon = await startEngineProcess(
    [
      "dockerd",
      ...["--config-file", config, "--host", `unix://${socket}`, "--pidfile", join(directory, "docker.pid")],
      ...["--data-root", join(directory, "data"), "--exec-root", join(directory, "exec")],
      ...["--bridge=none", "--iptables=false", "--ip6tables=false", "--cgroup-parent", `/${cgroup}`],
    ],
    { socket },
  );
  cleanup.defer(() => daemon[Symbol.asyncDispose]());
  const owned = cleanup.move();
  return { pid: daemon.pid, host: `unix://${socket}`, [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose]() };
}
