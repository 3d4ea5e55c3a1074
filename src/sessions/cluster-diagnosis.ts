import type { Logger } from "../lib/log/logger.ts";
import type { Policy } from "../policy/schema.ts";
import { ClusterApi } from "../runners/kubernetes/client/cluster-api.ts";
import { openConnection } from "../runners/kubernetes/client/cluster-connection.ts";
import type { CellTrial, ClusterCheck } from "../runners/kubernetes/diagnosis/cluster-check.ts";
import { diagnoseCluster } from "../runners/kubernetes/diagnosis/diagnose-cluster.ts";
import { cellPod } from "../runners/kubernetes/pod/cell-pod.ts";
import { declaredIsolation, type KubernetesSettings, kubernetesSettings } from "../runners/kubernetes/settings.ts";

export type { CellTrial, ClusterCheck };

export interface ClusterQuestioning {
  readonly env: NodeJS.ProcessEnv;
  readonly policy: Policy;
  /** starts a cell; undefined: nothing is started */
  readonly tryCell: (() => Promise<CellTrial>) | undefined;
  readonly logger: Logger;
}

/** What was found out about the cluster of the environment's settings. */
export interface ClusterDiagnosis {
  readonly server: string;
  readonly namespace: string;
  readonly checks: readonly ClusterCheck[];
}

/** Surfaces do not import runners; they ask about the cluster here. */
export async function diagnoseOwnCluster(questioning: ClusterQuestioning): Promise<ClusterDiagnosis> {
  const { env, policy, tryCell, logger } = questioning;
  const settings = kubernetesSettings(env);
  using api = new ClusterApi(await openConnection(settings));
  const { runtimeClass, claims } = settings;
  const pod = examplePod(policy, settings);
  const checks = await diagnoseCluster({ api, pod, runtimeClass, claims, tryCell, logger });
  return { server: api.connection.server.origin, namespace: api.namespace, checks };
}

/** The pod that a cell of this policy would get, with names that stand for what is only known at its start. */
function examplePod(policy: Policy, settings: KubernetesSettings) {
  return cellPod(policy, {
    ...{ name: "codecell-doctor", gateway: "doctor", policyHash: "doctor", kernel: "codecell-kernel-doctor" },
    image: policy.kernel.image ?? settings.image ?? "codecell-python",
    python: "/usr/bin/python3",
    arch: process.arch === "arm64" ? "arm64" : "amd64",
    user: { uid: 1_000_000_000, gid: 1_000_000_000 },
    network:
      settings.network === "namespace"
        ? { by: "own-namespace", withoutRuntimeFilter: true }
        : { by: "policy", withoutRuntimeFilter: false },
    hasOwnKernel: declaredIsolation(settings.runtimeClass) === "gvisor",
    sizesMemoryFiles: true,
    settings,
  });
}
