interface SecurityContext {
  readonly runAsNonRoot?: boolean;
  readonly runAsUser?: number;
  readonly seccompProfile?: { readonly type?: string };
  readonly allowPrivilegeEscalation?: boolean;
  readonly privileged?: boolean;
  readonly procMount?: string;
  readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
}

interface Container {
  readonly name: string;
  readonly securityContext?: SecurityContext;
  readonly ports?: readonly { readonly hostPort?: number }[];
}

/** What the checks read of a pod's spec. */
export interface CheckedPod {
  readonly securityContext?: SecurityContext & { readonly sysctls?: readonly unknown[] };
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly (Record<string, unknown> & { readonly name: string })[];
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
}

const allowedVolumes = [
  ...["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"],
];
const seccompTypes = ["RuntimeDefault", "Localhost"];

/**
 * What the profile `restricted` of Kubernetes' Pod Security Standards would refuse, in its words. The API server of the double
 * and of old clusters does not check it.
 */
export function restrictedViolations(pod: CheckedPod): string[] {
  const whole = pod.securityContext ?? {};
  const found: string[] = [];
  if (pod.hostNetwork || pod.hostPID || pod.hostIPC) found.push("host namespaces");
  if ((whole.sysctls ?? []).length > 0) found.push("forbidden sysctls");
  for (const { name, ...source } of pod.volumes ?? []) {
    const kinds = Object.keys(source);
    if (!kinds.every((kind) => allowedVolumes.includes(kind))) found.push(`restricted volume types (${name})`);
  }
  for (const { name, securityContext: own = {}, ports = [] } of [...pod.containers, ...(pod.initContainers ?? [])]) {
    const capabilities = own.capabilities ?? {};
    const rules: [string, boolean][] = [
      ["privileged", own.privileged !== true],
      ["allowPrivilegeEscalation != false", own.allowPrivilegeEscalation === false],
      ["unrestricted capabilities", capabilities.drop?.includes("ALL") === true],
      ["added capabilities", (capabilities.add ?? []).every((capability) => capability === "NET_BIND_SERVICE")],
      ["runAsNonRoot != true", (own.runAsNonRoot ?? whole.runAsNonRoot) === true],
      ["runAsUser=0", own.runAsUser !== 0 && whole.runAsUser !== 0],
      ["seccompProfile", seccompTypes.includes((own.seccompProfile ?? whole.seccompProfile)?.type ?? "")],
      ["procMount", own.procMount === undefined || own.procMount === "Default"],
      ["hostPort", ports.every(({ hostPort = 0 }) => hostPort === 0)],
    ];
    found.push(...rules.filter(([, holds]) => !holds).map(([rule]) => `${rule} (${name})`));
  }
  return found;
}
