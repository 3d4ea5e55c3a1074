import type { V1Pod } from "@kubernetes/client-node";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { silentLogger } from "../../src/lib/log/logger.ts";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { skippedWithout } from "../contract/required.ts";
import type { ApiObject } from "../fakes/kubernetes-api/api/api-object.ts";
import { networkPolicies, pods } from "../fakes/kubernetes-api/api/resource-table.ts";
import { doubleAvailability } from "../fakes/kubernetes-api/availability.ts";
import { KubernetesApiDouble } from "../fakes/kubernetes-api/kubernetes-api-double.ts";
import { newStateDir, removeStateDir } from "../support/managers.ts";
import { podsOf, runnerOn, sessionsOn } from "./fake-cluster.ts";

const probe = await doubleAvailability();

describe("a pod that an admission webhook changes", skippedWithout("kubernetes", probe), () => {
  let double: KubernetesApiDouble;
  let codecell: LiveSessions;
  const connected: string[] = [];
  beforeAll(async () => {
    if (!probe.available) return;
    double = await KubernetesApiDouble.start();
    codecell = await sessionsOn(double);
    await codecell.openSession().then((session) => session.close()); // the image and the network are known now
    double.server.on("used", ({ resource }) => void (resource.startsWith("pods/") && connected.push(resource)));
  });
  afterEach(() => {
    double.server.webhooks.clear();
    connected.length = 0;
  });
  afterAll(async () => {
    await codecell?.close();
    await double?.[Symbol.asyncDispose]();
  });

  type Change = (pod: V1Pod & Required<Pick<V1Pod, "spec" | "metadata">>) => unknown;
  /** A webhook for the pods of one role. */
  const webhook = (change: Change, { on = double, role = "cell" } = {}) =>
    on.server.webhooks.add((object, resource) => {
      if (resource !== pods || object.metadata.labels?.["codecell/role"] !== role) return;
      change(object as unknown as Parameters<Change>[0]);
    });
  const refusal = (field: string) =>
    expect.objectContaining({
      code: "cell_start_failed",
      message: expect.stringContaining(`changed the pod, so its receipt would not be true: ${field}`),
      hint: expect.stringContaining("exempt the cells' namespace"),
    });
  const container = ({ spec }: V1Pod) => spec?.containers[0] as NonNullable<V1Pod["spec"]>["containers"][0];

  test.each<[string, Change, string]>([
    [
      "a sidecar",
      ({ spec }) => spec.containers.push({ name: "mesh", image: "codecell-python:test" }),
      "spec.containers has 2 entries (cell, mesh) instead of 1",
    ],
    [
      "an init container",
      ({ spec }) => Object.assign(spec, { initContainers: [{ name: "init", image: "codecell-python:test" }] }),
      "spec.initContainers was added",
    ],
    [
      "privileges",
      (pod) => Object.assign(container(pod).securityContext ?? {}, { privileged: true }),
      "spec.containers[0].securityContext.privileged is true instead of false",
    ],
    [
      "a capability",
      (pod) => Object.assign(container(pod).securityContext?.capabilities ?? {}, { add: ["NET_ADMIN"] }),
      "spec.containers[0].securityContext.capabilities.add was added",
    ],
    [
      "another user",
      ({ spec }) => Object.assign(spec.securityContext ?? {}, { runAsUser: 1000 }),
      "spec.securityContext.runAsUser is 1000 instead of",
    ],
    [
      "no system call filter",
      ({ spec }) => delete spec.securityContext?.seccompProfile,
      "spec.securityContext.seccompProfile is missing",
    ],
    [
      "a token of its service account",
      ({ spec }) => {
        spec.automountServiceAccountToken = true;
        spec.volumes?.push({ name: "token", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } });
      },
      "spec.automountServiceAccountToken is true instead of false",
    ],
    [
      "a directory of the node",
      ({ spec }) => spec.volumes?.push({ name: "host", hostPath: { path: "/" } }),
      "spec.volumes has 6 entries",
    ],
    [
      "the node's network",
      ({ spec }) => Object.assign(spec, { hostNetwork: true }),
      "spec.hostNetwork is true instead of false",
    ],
    [
      "no memory limit",
      (pod) => delete container(pod).resources?.limits?.memory,
      "spec.containers[0].resources.limits.memory is missing",
    ],
    [
      "a variable",
      (pod) => Object.assign(container(pod), { env: [{ name: "TOKEN", value: "secret" }] }),
      "spec.containers[0].env was added",
    ],
    [
      "no closing label",
      ({ metadata }) => Object.assign(metadata.labels ?? {}, { "codecell/network": "open" }),
      'metadata.labels[codecell/network] is "open" instead of "none"',
    ],
  ])("to have %s is refused with the field and deleted, and nothing connects to it", async (_, change, field) => {
    webhook(change);
    await expect(codecell.openSession()).rejects.toEqual(refusal(field));
    expect(podsOf(double)).toEqual([]);
    expect(connected).toEqual([]);
  });

  test("only in where it runs and how its image is pulled starts", async () => {
    webhook(({ metadata, spec }) => {
      metadata.labels = { ...metadata.labels, team: "a" };
      metadata.annotations = { ...metadata.annotations, "example.com/by": "a webhook" };
      spec.nodeSelector = { ...spec.nodeSelector, "kubernetes.io/os": "linux" };
      spec.tolerations?.push({ key: "pool", operator: "Exists" });
      Object.assign(spec, { priority: 5, priorityClassName: "low", imagePullSecrets: [{ name: "registry" }] });
      Object.assign(container({ spec }), { imagePullPolicy: "Always" });
    });
    await using session = await codecell.openSession();
    expect(await session.run("40 + 2")).toMatchObject({ status: "ok", value: "42" });
  });

  test("is not kept warm, and the reason is logged", async () => {
    const stateDir = await newStateDir();
    const errors: unknown[] = [];
    const logger = {
      ...silentLogger,
      warn: (_: string, facts?: Record<string, unknown>) => void errors.push(facts?.error),
    };
    webhook(({ spec }) => spec.containers.push({ name: "mesh", image: "codecell-python:test" }));
    try {
      const policy = parsePolicy({ session: { pool: 1 } });
      await using warm = await Codecell.open({ policy, runners: [runnerOn(double)], stateDir, logger });
      await expect.poll(() => errors, { timeout: 20_000 }).toContainEqual(refusal("spec.containers has 2 entries"));
      await expect(warm.session("a")).rejects.toMatchObject({ code: "cell_start_failed" });
    } finally {
      await removeStateDir(stateDir);
    }
    expect(podsOf(double)).toEqual([]);
  });

  test("to examine the image is refused too, because its findings would be those of another pod", async () => {
    await using fresh = await KubernetesApiDouble.start();
    webhook(({ spec }) => Object.assign(spec, { hostPID: true }), { on: fresh, role: "examiner" });
    await expect(sessionsOn(fresh)).rejects.toEqual(refusal("spec.hostPID is true instead of false"));
    expect(podsOf(fresh, "examiner")).toEqual([]);
  });

  test.runIf(process.getuid?.() === 0)("to have a label by which a NetworkPolicy opens it is refused", async () => {
    await using closed = await KubernetesApiDouble.start({ network: "enforces" });
    await using sessions = await sessionsOn(closed, {}, { network: "policy" });
    const open = { podSelector: { matchLabels: { team: "a" } }, policyTypes: ["Egress"], egress: [{}] };
    const policy = { metadata: { name: "team-a" }, spec: open } as unknown as ApiObject;
    closed.store.create(networkPolicies, closed.namespace, policy);
    await sessions.openSession().then((session) => session.close());
    webhook(({ metadata }) => Object.assign(metadata.labels ?? {}, { team: "a" }), { on: closed });
    await expect(sessions.openSession()).rejects.toMatchObject({
      ...{ code: "cell_start_failed", message: expect.stringMatching(/open the network of the pod.*: team-a$/) },
    });
    expect(podsOf(closed)).toEqual([]);
    closed.store.remove(networkPolicies, closed.namespace, "team-a");
    await using session = await sessions.openSession();
    expect(await session.run("40 + 2")).toMatchObject({ status: "ok", value: "42" });
  });
});
