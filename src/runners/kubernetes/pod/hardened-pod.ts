import type { PullPolicy } from "../settings.ts";

/** The parts that differ between the pods of this runner. */
export interface PodParts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly image: string;
  readonly command: readonly string[];
  readonly args?: readonly string[];
  readonly user: { readonly uid: number; readonly gid: number };
  /** `none`: the first process adds codecell's filter, after it has left the pod's network */
  readonly runtimeFilter: "default" | "none";
  /** uids of the pod are others on the node; needs Kubernetes 1.30 and a runtime that supports it */
  readonly hasUserNamespace?: boolean;
  readonly resources: PodResources;
  /** since its start; undefined: the pod may wait for any time until it is used */
  readonly deadlineSeconds: number | undefined;
  readonly volumes: readonly object[];
  readonly mounts: readonly object[];
  readonly runtimeClass: string | undefined;
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly pullPolicy: PullPolicy | undefined;
}

export interface PodResources {
  readonly limits: Readonly<Record<"cpu" | "memory" | "ephemeral-storage", string>>;
  readonly requests: Readonly<Record<"cpu" | "memory" | "ephemeral-storage", string>>;
}

export const containerName = "cell";
/** The kubelet puts a file of the node here, whose content becomes part of the pod's status. */
export const terminationLog = "/dev/termination-log";

/** Pure: a pod with everything closed that a pod can close. Its programs are untrusted, whatever its role is. */
export function hardenedPod(parts: PodParts) {
  const { uid, gid } = parts.user;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: parts.name,
      labels: parts.labels,
      annotations: {
        // a cluster that shrinks would end sessions for it
        "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
        ...parts.annotations,
      },
    },
    spec: {
      ...(parts.runtimeClass === undefined ? {} : { runtimeClassName: parts.runtimeClass }),
      nodeSelector: { "kubernetes.io/os": "linux", ...parts.nodeSelector },
      // A pod never moves: on a node that is lost it only delays the news that the cell is.
      tolerations: ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].map((key) => ({
        ...{ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 0 },
      })),
      restartPolicy: "Never", // a second interpreter would not be the session's
      ...(parts.deadlineSeconds === undefined ? {} : { activeDeadlineSeconds: parts.deadlineSeconds }),
      terminationGracePeriodSeconds: 1,
      hostname: "cell",
      // hides the cluster's name servers and search domains, which name the namespace
      dnsPolicy: "None",
      dnsConfig: { nameservers: ["127.0.0.1"] },
      automountServiceAccountToken: false, // stops a cell from using the API with the namespace's default rights
      enableServiceLinks: false, // hides the addresses of other services
      ...{ hostNetwork: false, hostPID: false, hostIPC: false, shareProcessNamespace: false },
      ...(parts.hasUserNamespace ? { hostUsers: false } : {}),
      securityContext: {
        ...{ runAsNonRoot: true, runAsUser: uid, runAsGroup: gid, fsGroup: gid, supplementalGroups: [] },
        seccompProfile: { type: parts.runtimeFilter === "default" ? "RuntimeDefault" : "Unconfined" },
      },
      containers: [
        {
          name: containerName,
          image: parts.image,
          ...(parts.pullPolicy === undefined ? {} : { imagePullPolicy: parts.pullPolicy }),
          command: parts.command.map(withoutExpansion),
          args: (parts.args ?? []).map(withoutExpansion),
          workingDir: "/",
          stdin: true,
          stdinOnce: false,
          tty: false,
          terminationMessagePath: terminationLog,
          terminationMessagePolicy: "File", // the other one would copy the cell's frames into the pod's status
          resources: parts.resources,
          securityContext: {
            ...{ privileged: false, allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, runAsNonRoot: true },
            capabilities: { drop: ["ALL"] },
          },
          volumeMounts: parts.mounts,
        },
      ],
      volumes: parts.volumes,
    },
  };
}

export type HardenedPod = ReturnType<typeof hardenedPod>;

/** Kubernetes replaces $(NAME) in commands by variables. */
function withoutExpansion(text: string): string {
  return text.replaceAll("$(", () => "$$(");
}

/** Pure: a tmpfs that counts against the pod's memory. */
export function memoryVolume(name: string, bytes: number) {
  return { name, emptyDir: { medium: "Memory", sizeLimit: String(bytes) } };
}
