import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Cleanup } from "../../src/lib/cleanup.ts";
import { cgroupsNamed, removeEmptyCgroups } from "./engine-cgroups.ts";
import { type EngineProcess, startEngineProcess } from "./engine-process.ts";

/** Podman's service below one directory, with runc, which supports cgroups v1 and v2. */
export async function startPodman(directory: string): Promise<EngineProcess & { host: string }> {
  await using cleanup = new Cleanup();
  await mkdir(join(directory, "networks"), { recursive: true });
  await mkdir(join(directory, "scratch"));
  const socket = join(directory, "podman.sock");
  const config = join(directory, "containers.conf");
  await writeFile(config, await containersConf(directory));
  if (cgroupsNamed(parentGroup).length === 0) cleanup.defer(() => removeEmptyCgroups(parentGroup));
  const at = (name: string) => join(directory, name);
  const service = await startEngineProcess(
    [
      "podman",
      ...["--root", at("storage"), "--runroot", at("run"), "--tmpdir", at("tmp")],
      ...["--runtime", "runc", "--cgroup-manager", "cgroupfs", "--log-level", "warn"],
      ...["system", "service", "--time=0", `unix://${socket}`],
    ],
    {
      socket,
      env: { CONTAINERS_CONF: config, TMPDIR: at("scratch") }, // loaded images are copied to TMPDIR and stay there
      hidden: ["/usr/bin/dpkg"], // to describe itself, Podman asks it for its packages each time: 0.2 s of CPU time
    },
  );
  cleanup.defer(() => service[Symbol.asyncDispose]());
  const owned = cleanup.move();
  return { ...service, host: `unix://${socket}`, [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose]() };
}

/** Podman's default parent group of containers */
const parentGroup = "libpod_parent";

/** By default Podman raises limits to a million, which root without CAP_SYS_RESOURCE may not. */
async function containersConf(directory: string): Promise<string> {
  const limits = await readFile("/proc/self/limits", "utf8");
  const files = /^Max open files\s+\S+\s+(\d+)/m.exec(limits)?.[1] ?? "1024";
  return [
    "[containers]",
    `default_ulimits = ["nofile=${files}:${files}", "nproc=4096:4096"]`,
    "[engine]",
    'events_logger = "none"',
    'lock_type = "file"', // the default is shared by the whole machine and persists
    "[network]",
    `network_config_dir = "${join(directory, "networks")}"`,
    "",
  ].join("\n");
}
