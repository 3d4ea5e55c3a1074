import { describe, expect, test } from "vitest";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import { pooledLink } from "../channel/pod-channel.ts";
import { type CellPodFacts, cellPod, podMemoryBytes, watchedLimits } from "./cell-pod.ts";

const facts: CellPodFacts = {
  ...{ name: "codecell-g1-1", gateway: "g1", policyHash: "abc", image: "python:3.12", python: "/usr/bin/python3" },
  ...{ kernel: "codecell-kernel-1", arch: "amd64", user: { uid: 1_000_000_001, gid: 1_000_000_001 } },
  network: { by: "policy", withoutRuntimeFilter: false },
  ...{ hasOwnKernel: false, sizesMemoryFiles: true },
  settings: { runtimeClass: undefined, nodeSelector: {}, pullPolicy: undefined, requests: { cpu: 0.5, memory: 0.25 } },
};
const pod = (policy: object = {}, own: Partial<CellPodFacts> = {}) =>
  cellPod(parsePolicy(policy), { ...facts, ...own });
const container = (...parts: Parameters<typeof pod>) => {
  const [first] = pod(...parts).spec.containers;
  if (!first) throw new Error("no container");
  return first;
};
const settings = (...parts: Parameters<typeof pod>) =>
  JSON.parse(
    container(...parts)
      .args.at(-1)
      ?.replaceAll("$$(", "$(") ?? "",
  );

describe("the pod of a cell", () => {
  test("is not root, has a user of its own and no capability, and cannot gain privileges", () => {
    const user = 1_000_000_001;
    expect(pod().spec.securityContext).toEqual({
      ...{ runAsNonRoot: true, runAsUser: user, runAsGroup: user, fsGroup: user, supplementalGroups: [] },
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(container().securityContext).toEqual({
      ...{ privileged: false, allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, runAsNonRoot: true },
      capabilities: { drop: ["ALL"] },
    });
  });

  test("has no credentials, addresses or names of its cluster", () => {
    expect(pod().spec).toMatchObject({
      ...{ automountServiceAccountToken: false, enableServiceLinks: false, hostname: "cell" },
      ...{ dnsPolicy: "None", dnsConfig: { nameservers: ["127.0.0.1"] } },
      ...{ hostNetwork: false, hostPID: false, hostIPC: false, shareProcessNamespace: false },
    });
    const covered = container().volumeMounts.map((mount) => (mount as { mountPath: string }).mountPath);
    expect(covered).toEqual(expect.arrayContaining(["/etc/hosts", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf"]));
  });

  test("never restarts, never moves, and ends without a gateway", () => {
    const { spec } = pod({ session: { lifetime: "1h" } });
    expect(spec).toMatchObject({
      restartPolicy: "Never",
      activeDeadlineSeconds: 3720,
      terminationGracePeriodSeconds: 1,
    });
    expect(spec.tolerations.map(({ key, tolerationSeconds }) => [key, tolerationSeconds])).toEqual([
      ["node.kubernetes.io/not-ready", 0],
      ["node.kubernetes.io/unreachable", 0],
    ]);
  });

  test("has the policy's limits, with room for its files in memory", () => {
    const { resources } = container({ proc: { cpus: 1.5, memory: "256MiB", disk: "64MiB" } });
    const memory = (256 + 64 + 128) * 2 ** 20;
    expect(resources.limits).toMatchObject({ cpu: "1500m", memory: String(memory) });
    expect(resources.requests).toMatchObject({ cpu: "750m", memory: String(memory / 4) });
    expect(settings({ proc: { pids: 10, files: 99, disk: "64MiB" } })).toMatchObject({
      ...{
        nprocLimit: 13,
        files: 99,
        roomBytes: 64 * 2 ** 20,
        workspaceBytes: 64 * 2 ** 20,
        network: "policy",
        guard: true,
        filter: "cell.bpf",
      },
    });
  });

  test("has its files in memory alone, each with a size", () => {
    const volumes = pod({ proc: { disk: "64MiB" } }).spec.volumes as { name: string; emptyDir?: object }[];
    const sizes = volumes.flatMap(({ name, emptyDir }) => (emptyDir ? [[name, emptyDir]] : []));
    const memory = (bytes: number) => ({ medium: "Memory", sizeLimit: String(bytes) });
    expect(sizes).toEqual([
      ["workspace", memory(64 * 2 ** 20)],
      ["tmp", memory(64 * 2 ** 20)],
      ["shm", memory(64 * 2 ** 20)],
    ]);
    expect(JSON.stringify(volumes)).not.toMatch(/hostPath|persistentVolumeClaim|secret|projected/);
  });

  test("has its files counted by the supervisor where kubelets give them no size", () => {
    const found = settings({ proc: { disk: "64MiB" } }, { sizesMemoryFiles: false });
    expect(found).toMatchObject({ workspaceBytes: 64 * 2 ** 20, memoryFilesBytes: (64 + 128) * 2 ** 20 });
    expect(found).not.toHaveProperty("roomBytes");
  });

  test("hides what Linux shows of the node when it leaves the network, and nothing under gVisor, which shows nothing", () => {
    const network = { by: "own-namespace", withoutRuntimeFilter: false } as const;
    expect(settings({}, { network }).hidden).toContain("/proc/acpi");
    expect(settings({}, { network, hasOwnKernel: true })).not.toHaveProperty("hidden");
  });

  test("has the runtime's filter unless its first process leaves the network under codecell's own", () => {
    const own = pod({}, { network: { by: "own-namespace", withoutRuntimeFilter: true } });
    expect(own.spec.securityContext.seccompProfile).toEqual({ type: "Unconfined" });
    expect(settings({}, { network: { by: "own-namespace", withoutRuntimeFilter: true } }).network).toBe(
      "own-namespace",
    );
    const allowed = pod({}, { network: { by: "own-namespace", withoutRuntimeFilter: false } });
    expect(allowed.spec.securityContext.seccompProfile).toEqual({ type: "RuntimeDefault" });
  });

  test("says whose it is, and is selected by the policy that closes the network", () => {
    expect(pod().metadata.labels).toEqual({
      ...{ "app.kubernetes.io/managed-by": "codecell", "codecell/role": "cell", "codecell/gateway": "g1" },
      "codecell/network": "none",
    });
    expect(pod().metadata.annotations).toMatchObject({ "codecell/policy": "abc" });
  });

  test("runs on nodes of the kernel's architecture, in the operator's class", () => {
    const { spec } = pod(
      {},
      { settings: { ...facts.settings, runtimeClass: "gvisor", nodeSelector: { pool: "cells" } }, hasOwnKernel: true },
    );
    expect(spec.nodeSelector).toEqual({ "kubernetes.io/os": "linux", pool: "cells", "kubernetes.io/arch": "amd64" });
    expect(spec).toMatchObject({ runtimeClassName: "gvisor" });
    expect(settings({}, { hasOwnKernel: true })).toMatchObject({ osKernel: "gvisor", guard: false });
  });

  test("with an OS kernel of its own is stopped below its own limit by whatever that kernel has handed out", () => {
    const policy = parsePolicy({});
    const { watchTotalBytes = 0 } = watchedLimits(policy, true);
    expect(watchTotalBytes).toBeGreaterThan(policy.proc.memoryBytes + policy.proc.diskBytes);
    expect(watchTotalBytes).toBeLessThan(podMemoryBytes(policy, true));
    expect(watchedLimits(policy, false)).toEqual({ watchMemoryBytes: policy.proc.memoryBytes });
  });

  test("has one process more for the link, and knows only the hash of its ticket", () => {
    const link = { port: 1, ticketHash: "h", patienceSeconds: 45 };
    expect(settings({ proc: { pids: 10 } }, { link })).toMatchObject({ nprocLimit: 14, link });
  });

  test("of a warm pool has a user namespace, which it checks, no deadline of its own, and nothing that is secret", () => {
    const own = { isPooled: true, link: pooledLink };
    const { spec } = pod({}, own);
    expect(spec).toMatchObject({ hostUsers: false });
    expect(spec).not.toHaveProperty("activeDeadlineSeconds");
    expect(settings({}, own)).toMatchObject({ ownUsers: true, link: { port: pooledLink.port, patienceSeconds: 45 } });
    expect(settings({}, own).link).not.toHaveProperty("ticketHash");
    expect(settings({}, { link: { ...pooledLink, ticketHash: "h" } })).not.toHaveProperty("ownUsers");
  });

  test("does not let Kubernetes replace variables in its command", () => {
    expect(cellPod(parsePolicy({}), { ...facts, python: "/$(HOME)/python3" }).spec.containers[0]?.command[0]).toBe(
      "/$$(HOME)/python3",
    );
  });
});
