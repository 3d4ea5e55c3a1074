/**
 * The spec of a pod of the cells' image with nothing of ours in it, but what the namespace's profile `restricted` asks for.
 * @param {NodeJS.ProcessEnv} env
 * @param {{ name: string, command: string[], stdin?: boolean }} container
 */
export function plainPodSpec(env, container) {
  const pull = env.CODECELL_KUBERNETES_PULL_POLICY;
  return {
    restartPolicy: "Never",
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 0,
    securityContext: { runAsNonRoot: true, runAsUser: 10001, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        ...container,
        image: env.CODECELL_KUBERNETES_IMAGE,
        ...(pull ? { imagePullPolicy: pull } : {}),
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
        resources: { limits: { cpu: "1", memory: "256Mi" }, requests: { cpu: "50m", memory: "64Mi" } },
      },
    ],
  };
}
