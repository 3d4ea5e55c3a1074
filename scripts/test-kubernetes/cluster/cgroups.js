import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cgroupName, nodes } from "./layout.js";
import { waitUntil } from "./wait-until.js";

const root = "/sys/fs/cgroup";

/** Makes the control groups of the nodes, in every hierarchy. Only those of version 1 can be used here: Kubernetes 1.20 knows no others. */
export async function makeCgroups() {
  const hierarchies = await hierarchiesOf(["cgroup"]);
  if (hierarchies.length === 0) {
    throw new Error(
      "this machine has no cgroup v1 controllers, which kubelet 1.20 needs: use --kubeconfig FILE with a cluster that exists",
    );
  }
  for (const hierarchy of hierarchies) {
    for (const path of [cgroupName, ...nodes.map(({ cgroup }) => cgroup)]) {
      const directory = join(hierarchy, path);
      await mkdir(directory, { recursive: true });
      if (!hierarchy.endsWith("cpuset")) continue;
      for (const file of ["cpuset.cpus", "cpuset.mems"]) {
        // a new group of this hierarchy takes no process without them
        await writeFile(join(directory, file), await readFile(join(directory, "..", file)));
      }
    }
  }
}

/** Removes them, with everything below. Their processes have ended. */
export async function removeCgroups() {
  for (const hierarchy of await hierarchiesOf(["cgroup", "cgroup2"])) {
    const directory = join(hierarchy, cgroupName);
    if (!existsSync(directory)) continue;
    await waitUntil(`${directory} can be removed`, () => removeTree(directory).then(() => true), { timeoutMs: 10_000 });
  }
}

async function removeTree(directory) {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) await removeTree(join(directory, entry.name));
  }
  await rmdir(directory);
}

/** The directories of the mounted hierarchies of these types. runc also makes groups in one of version 2 without controllers. */
async function hierarchiesOf(types) {
  const mounts = await readFile("/proc/self/mounts", "utf8");
  return mounts
    .split("\n")
    .map((line) => line.split(" "))
    .filter(([, path, type]) => types.includes(type) && path?.startsWith(`${root}/`))
    .map(([, path]) => path);
}
