import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { kubernetesBuild } from "../build.js";
import { cgroupName } from "../cluster/layout.js";
import { waitUntil } from "../cluster/wait-until.js";
import { run } from "../command.js";
import { cellImage, imageArchive } from "../images.js";

export const localImage = "codecell-test-local:latest";

/**
 * Starts a Docker daemon beside the cluster, with the cells' image, to compare pods with containers of this machine. It ends with the
 * cluster's namespaces at the latest.
 * @param {import("./context.js").Context} context
 * @returns {Promise<{ host: string, stop(): Promise<void> }>}
 */
export async function startLocalDocker({ directory }) {
  const home = join(directory, "docker");
  await mkdir(home, { recursive: true });
  const host = `unix://${join(home, "docker.sock")}`;
  const config = join(home, "daemon.json"); // the machine's own is not asked
  await writeFile(config, "{}");
  const places = ["--data-root", join(home, "data"), "--exec-root", join(home, "exec"), "--pidfile", join(home, "pid")];
  const none = ["--bridge=none", "--iptables=false", "--ip6tables=false", "--config-file", config];
  const argv = ["--host", host, ...places, ...none, "--cgroup-parent", `/${cgroupName}/docker`];
  const child = spawn("dockerd", argv, { stdio: "ignore" });
  const docker = (...words) => run(["docker", "--host", host, ...words], { timeoutMs: 180_000 });
  const stop = async () => {
    if (child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), 20_000);
    await ended;
    clearTimeout(late);
    await rm(home, { recursive: true, force: true, maxRetries: 5 }).catch(() => {}); // mounts end with the namespaces
  };
  try {
    await waitUntil("dockerd answers", () => docker("version"));
    await docker("load", "--input", await imageArchive(await kubernetesBuild()));
    await docker("tag", cellImage, localImage);
    return { host, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
