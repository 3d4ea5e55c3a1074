import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./command.js";
import { withProgress } from "./progress.js";

const programs = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl"];

/** The directory with the servers of Kubernetes; builds them if they are not there. */
export async function kubernetesBuild(env = process.env) {
  const directory =
    env.CODECELL_KUBERNETES_BUILD ??
    join(env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "codecell", "test-kubernetes");
  if (programs.every((name) => existsSync(join(directory, "bin", name)))) return directory;
  const script = fileURLToPath(new URL("build-kubernetes.sh", import.meta.url));
  await withProgress(`building Kubernetes in ${directory} (once, about 10 minutes and 6 GB)`, () =>
    run(["bash", script, directory], { timeoutMs: 3_600_000 }),
  );
  return directory;
}
