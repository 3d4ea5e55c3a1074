import { describe, expect, test } from "vitest";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import { pooledLink } from "../channel/pod-channel.ts";
import { pooledUser } from "../claims/user-namespaces.ts";
import { type CellPodFacts, cellPod } from "./cell-pod.ts";
import { hardenedPod } from "./hardened-pod.ts";
import { podDifference } from "./pod-difference.ts";

const facts: CellPodFacts = {
  ...{ name: "", gateway: "g1", policyHash: "abc", image: "python:3.12", python: "/usr/bin/python3" },
  ...{ kernel: "codecell-kernel-1", arch: "amd64", user: pooledUser, isPooled: true, link: pooledLink },
  network: { by: "policy", withoutRuntimeFilter: false },
  ...{ hasOwnKernel: false, sizesMemoryFiles: true },
  settings: { runtimeClass: undefined, nodeSelector: {}, pullPolicy: undefined, requests: { cpu: 0.5, memory: 0.25 } },
};
const policy = parsePolicy({ proc: { cpus: 1, memory: "1000MB", disk: "64MiB" } });
const asked = cellPod(policy, facts);

// biome-ignore lint/suspicious/noExplicitAny: tests write anywhere into it
type Loose = any;

const cellResources = {
  limits: { cpu: "1", memory: "1Gi", "ephemeral-storage": "1Gi" },
  requests: { cpu: "1", memory: "1Gi", "ephemeral-storage": "1Gi" },
};

/** The pod as an API server returns it: without what is false, with its defaults, in its own units, on a node. */
function returned(change: (pod: Loose) => void = () => {}): Loose {
  const pod: Loose = structuredClone(asked);
  pod.metadata.name = "codecell-g1-pool-1-x7k2p";
  pod.metadata.labels["agents.x-k8s.io/sandbox-name-hash"] = "1234abcd";
  pod.metadata.annotations["agents.x-k8s.io/propagated-labels"] = "codecell/gateway";
  pod.metadata.annotations["cni.projectcalico.org/podIP"] = "10.0.0.7/32";
  const { spec } = pod;
  for (const name of ["hostNetwork", "hostPID", "hostIPC"]) delete spec[name];
  delete spec.securityContext.supplementalGroups;
  Object.assign(spec, { nodeName: "node-a", schedulerName: "default-scheduler", priority: 0 });
  Object.assign(spec, {
    serviceAccountName: "default",
    serviceAccount: "default",
    preemptionPolicy: "PreemptLowerPriority",
  });
  spec.imagePullSecrets = [{ name: "registry" }];
  spec.tolerations.push({ key: "node.kubernetes.io/memory-pressure", operator: "Exists", effect: "NoSchedule" });
  const [container] = spec.containers;
  for (const name of ["stdinOnce", "tty"]) delete container[name];
  container.imagePullPolicy = "IfNotPresent";
  container.resources.limits.cpu = "1";
  container.securityContext.procMount = "Default";
  const identity = spec.volumes.find(({ name }: Loose) => name === "identity");
  for (const item of identity.downwardAPI.items) item.fieldRef.apiVersion = "v1";
  change(pod);
  return pod;
}

describe("a pod that somebody else made or admitted", () => {
  test("that has only what an API server and a scheduler add is what was asked for", () => {
    expect(podDifference(asked, returned())).toBeUndefined();
  });

  test.each<[string, (pod: Loose) => void, string]>([
    ["a token", ({ spec }) => delete spec.automountServiceAccountToken, "spec.automountServiceAccountToken is missing"],
    ["another image", ({ spec }) => (spec.containers[0].image = "evil:1"), "spec.containers[0].image"],
    ["no memory limit", ({ spec }) => delete spec.containers[0].resources.limits.memory, "resources.limits.memory"],
    ["a larger limit", ({ spec }) => (spec.containers[0].resources.limits.cpu = "2"), "resources.limits.cpu"],
    [
      "a sidecar",
      ({ spec }) => spec.containers.push({ name: "proxy", image: "mesh" }),
      "spec.containers has 2 entries (cell, proxy) instead of 1",
    ],
    ["an init container", ({ spec }) => (spec.initContainers = [{ name: "a" }]), "spec.initContainers was added"],
    ["a debugger", ({ spec }) => (spec.ephemeralContainers = [{ name: "a" }]), "spec.ephemeralContainers was added"],
    [
      "a volume of a token",
      ({ spec }) => spec.volumes.push({ name: "kube-api-access", projected: {} }),
      "spec.volumes has 6 entries",
    ],
    ["a variable", ({ spec }) => (spec.containers[0].env = [{ name: "A" }]), "spec.containers[0].env was added"],
    ["another command", ({ spec }) => (spec.containers[0].args[0] = "{}"), "spec.containers[0].args[0]"],
    ["the node's users", ({ spec }) => delete spec.hostUsers, "spec.hostUsers is missing instead of false"],
    ["the node's network", ({ spec }) => (spec.hostNetwork = true), "spec.hostNetwork is true instead of false"],
    [
      "a capability",
      ({ spec }) => (spec.containers[0].securityContext.capabilities.add = ["NET_RAW"]),
      "capabilities.add was added",
    ],
    [
      "privileges",
      ({ spec }) => delete spec.containers[0].securityContext.allowPrivilegeEscalation,
      "securityContext.allowPrivilegeEscalation is missing",
    ],
    [
      "no filter",
      ({ spec }) => (spec.securityContext.seccompProfile.type = "Unconfined"),
      "spec.securityContext.seccompProfile.type",
    ],
    ["another name server", ({ spec }) => (spec.dnsConfig.nameservers = ["8.8.8.8"]), "spec.dnsConfig.nameservers[0]"],
    ["a lifetime", ({ spec }) => (spec.activeDeadlineSeconds = 5), "spec.activeDeadlineSeconds was added"],
    [
      "an unmasked /proc",
      ({ spec }) => (spec.containers[0].securityContext.procMount = "Unmasked"),
      "procMount was added",
    ],
    ["less of a node", ({ spec }) => spec.tolerations.shift(), "spec.tolerations lacks"],
    [
      "no closing label",
      ({ metadata }) => delete metadata.labels["codecell/network"],
      "metadata.labels[codecell/network]",
    ],
    [
      "no AppArmor profile",
      ({ metadata }) => (metadata.annotations["container.apparmor.security.beta.kubernetes.io/cell"] = "unconfined"),
      "metadata.annotations has container.apparmor",
    ],
    [
      "another network",
      ({ metadata }) => (metadata.annotations["k8s.v1.cni.cncf.io/networks"] = "office"),
      "metadata.annotations has k8s.v1.cni.cncf.io/networks",
    ],
    [
      "a device",
      ({ metadata }) => (metadata.annotations["cdi.k8s.io/gpu"] = "vendor.com/gpu=0"),
      "metadata.annotations has cdi.k8s.io/gpu",
    ],
    [
      "another SELinux type",
      ({ spec }) => (spec.securityContext.seLinuxOptions = { level: "s0:c1,c2", type: "spc_t" }),
      "spec.securityContext.seLinuxOptions was added",
    ],
    ["no volumes", ({ spec }) => delete spec.volumes, "spec.volumes has 0 entries instead of 5"],
    ["nothing that is known", (pod) => (pod.spec = undefined), "spec is missing"],
  ])("that has %s is told apart, with the field", (_, change, field) => {
    expect(podDifference(asked, returned(change))).toContain(field);
  });

  test("that OpenShift and AlwaysPullImages admitted is what was asked for", () => {
    const own = cellPod(policy, { ...facts, settings: { ...facts.settings, pullPolicy: "Never" } });
    const admitted: Loose = structuredClone(own);
    admitted.metadata.annotations["openshift.io/scc"] = "nonroot-v2";
    admitted.metadata.annotations["k8s.v1.cni.cncf.io/network-status"] = "[]";
    admitted.spec.securityContext.seLinuxOptions = { level: "s0:c27,c4" };
    admitted.spec.containers[0].imagePullPolicy = "Always";
    expect(podDifference(own, admitted)).toBeUndefined();
    admitted.spec.containers[0].imagePullPolicy = "IfNotPresent";
    expect(podDifference(own, admitted)).toBe(
      'spec.containers[0].imagePullPolicy is "IfNotPresent" instead of "Never"',
    );
  });

  test("without its RuntimeClass is told apart", () => {
    const own = cellPod(policy, { ...facts, settings: { ...facts.settings, runtimeClass: "gvisor" } });
    const admitted: Loose = structuredClone(own);
    expect(podDifference(own, admitted)).toBeUndefined();
    delete admitted.spec.runtimeClassName;
    expect(podDifference(own, admitted)).toBe('spec.runtimeClassName is missing instead of "gvisor"');
  });

  test("is the same without the empty lists that an API server leaves out", () => {
    const own = hardenedPod({
      ...{ name: "probe", labels: {}, image: "python:3.12", command: ["python3"], user: pooledUser },
      ...{ runtimeFilter: "default", resources: cellResources, deadlineSeconds: 60, volumes: [], mounts: [] },
      ...{ runtimeClass: undefined, nodeSelector: {}, pullPolicy: undefined },
    });
    const admitted: Loose = structuredClone(own);
    for (const name of ["args", "volumeMounts"]) delete admitted.spec.containers[0][name];
    delete admitted.spec.volumes;
    expect(podDifference(own, admitted)).toBeUndefined();
    admitted.spec.containers[0].args = ["--evil"];
    expect(podDifference(own, admitted)).toBe("spec.containers[0].args has 1 entries instead of 0");
  });
});
