import type { V1Pod } from "@kubernetes/client-node";
import { afterEach, describe, expect, test } from "vitest";
import { silentLogger } from "../../src/lib/log/logger.ts";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { ClusterApi } from "../../src/runners/kubernetes/client/cluster-api.ts";
import { openConnection } from "../../src/runners/kubernetes/client/cluster-connection.ts";
import { Orphans } from "../../src/runners/kubernetes/gateway/orphans.ts";
import type { KubernetesRunnerOptions } from "../../src/runners/kubernetes/runner.ts";
import { kubernetesSettings } from "../../src/runners/kubernetes/settings.ts";
import { requiredRules } from "../../src/runners/kubernetes/verbs.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { skippedWithout } from "../contract/required.ts";
import { type ApiObject, fieldAt } from "../fakes/kubernetes-api/api/api-object.ts";
import { deleteObject } from "../fakes/kubernetes-api/api/deletion.ts";
import {
  pods,
  sandboxClaims,
  sandboxes,
  sandboxTemplates,
  sandboxWarmPools,
} from "../fakes/kubernetes-api/api/resource-table.ts";
import { doubleAvailability } from "../fakes/kubernetes-api/availability.ts";
import { type DoubleOptions, KubernetesApiDouble } from "../fakes/kubernetes-api/kubernetes-api-double.ts";
import { leftIn, podsOf, runnerOn } from "./fake-cluster.ts";

const probe = await doubleAvailability();
const policy = parsePolicy({ session: { pool: 2 } });

describe("warm pods of agent-sandbox", skippedWithout("kubernetes", probe), () => {
  const opened: AsyncDisposable[] = [];
  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one[Symbol.asyncDispose]();
  });

  async function cluster(options: DoubleOptions = {}): Promise<KubernetesApiDouble> {
    const double = await KubernetesApiDouble.start({ hasAgentSandbox: true, ...options });
    opened.push(double);
    return double;
  }

  /** Sessions of a gateway, and how many warm cells the cluster keeps for it. */
  async function gateway(double: KubernetesApiDouble, options: Partial<KubernetesRunnerOptions> = {}) {
    const runner = runnerOn(double, options);
    const sessions = await LiveSessions.open({ policy, runners: [runner] });
    opened.push({ [Symbol.asyncDispose]: () => sessions.close() });
    return { sessions, kept: await runner.keepWarm?.(policy) };
  }

  const owners = ({ metadata }: ApiObject) => (metadata.ownerReferences as { kind: string }[] | undefined) ?? [];
  const uidOf = ({ metadata }: ApiObject) => metadata.uid;
  const all = (double: KubernetesApiDouble, resource: typeof pods) => double.store.list(resource, undefined);
  const sandboxOf = (claim: ApiObject | undefined) => String(fieldAt(claim, "status.sandbox.name"));
  /** What the API server was asked to delete from now on, such as `pods NAME`. */
  const deletions = (double: KubernetesApiDouble) => {
    const deleted: string[] = [];
    double.server.on(
      "used",
      ({ verb, resource, name }) => void (verb === "delete" && deleted.push(`${resource} ${name}`)),
    );
    return { deleted };
  };
  /** Waits until the pool's pod runs. */
  const warm = (double: KubernetesApiDouble) =>
    expect
      .poll(() => podsOf(double).map(({ status }) => (status as { phase?: string }).phase), { timeout: 30_000 })
      .toEqual(["Running"]);

  test("become cells that run code, and codecell creates none itself", async () => {
    const double = await cluster();
    const { sessions, kept } = await gateway(double);
    expect(kept).toBe(1);
    await warm(double);
    const [ready] = podsOf(double);
    const creates: string[] = [];
    double.server.on("used", ({ verb, resource }) => void (verb === "create" && creates.push(resource)));
    const session = await sessions.openSession({ id: "one" });
    const result = await session.run("import os\n(40 + 2, os.getuid())");
    expect(result).toMatchObject({ status: "ok", value: "(42, 10001)" });
    expect(creates).toEqual(["sandboxclaims"]);
    const [claim] = all(double, sandboxClaims);
    expect(claim?.status).toMatchObject({ sandbox: { name: ready?.metadata.name } });
    expect(result.receipt.rules.find(({ rule }) => rule === "proc.pids")?.how).toContain("user namespace");
    expect(result.receipt.notes.join("\n")).toContain("field by field");
    expect(podsOf(double).every((pod) => owners(pod)[0]?.kind === "Sandbox")).toBe(true);
  });

  test("go with the session that claimed them, and the pool is refilled", async () => {
    const double = await cluster();
    const { sessions } = await gateway(double);
    await warm(double);
    const session = await sessions.openSession();
    const [claim] = all(double, sandboxClaims);
    const name = sandboxOf(claim);
    await session.close();
    expect(all(double, sandboxClaims)).toEqual([]);
    await expect.poll(() => double.store.find(pods, double.namespace, name)).toBeUndefined();
    await warm(double);
    await sessions.close();
    await expect.poll(() => leftIn(double).filter((one) => !one.startsWith("configmaps codecell-kernel"))).toEqual([]);
    expect(all(double, sandboxes)).toEqual([]);
  });

  test.each<[string, (pod: V1Pod) => void, string]>([
    ["a token", ({ spec }) => void (spec && delete spec.automountServiceAccountToken), "automountServiceAccountToken"],
    [
      "a sidecar",
      ({ spec }) => void spec?.containers.push({ name: "mesh", image: "codecell-python:test" }),
      "spec.containers has 2 entries (cell, mesh)",
    ],
  ])("that a controller gave %s are refused with the field, and deleted", async (_, tamper, field) => {
    const double = await cluster();
    if (double.agentSandbox) double.agentSandbox.tamper = tamper;
    const { sessions } = await gateway(double);
    await warm(double);
    const [ready] = podsOf(double);
    const { deleted } = deletions(double);
    await expect(sessions.openSession()).rejects.toMatchObject({
      ...{ code: "cell_start_failed", message: expect.stringContaining(field) },
    });
    expect(all(double, sandboxClaims)).toEqual([]);
    await expect.poll(() => podsOf(double).map(uidOf)).not.toContain(ready && uidOf(ready));
    // the controller deletes the pod: nothing has shown that it is this session's
    expect(deleted).toEqual([expect.stringMatching(/^sandboxclaims /)]);
  });

  test("that belong to a session already are refused to another one, and the session keeps its pod", async () => {
    const double = await cluster();
    const { sessions } = await gateway(double);
    await warm(double);
    const first = await sessions.openSession({ id: "one" });
    await first.run("kept = 42");
    const [held] = all(double, sandboxClaims);
    const name = sandboxOf(held);
    const uid = double.store.find(pods, double.namespace, name)?.metadata.uid;
    if (double.agentSandbox) double.agentSandbox.isStopped = true; // another controller assigns pods, and is wrong
    const opening = sessions.openSession({ id: "two" });
    await expect.poll(() => all(double, sandboxClaims)).toHaveLength(2);
    const second = all(double, sandboxClaims).find(({ metadata }) => metadata.uid !== held?.metadata.uid);
    const { deleted } = deletions(double);
    double.store.update(sandboxClaims, double.namespace, second?.metadata.name ?? "", (claim) => {
      claim.status = structuredClone(held?.status);
    });
    await expect(opening).rejects.toMatchObject({
      ...{ code: "cell_start_failed", message: expect.stringContaining(`the pod ${name}, which belongs to another`) },
      hint: expect.stringContaining("CODECELL_KUBERNETES_CLAIMS=off"),
    });
    expect(deleted).toEqual([`sandboxclaims ${second?.metadata.name}`]);
    expect(all(double, sandboxClaims)).toEqual([held]);
    expect(double.store.find(pods, double.namespace, name)?.metadata).toMatchObject({ uid });
    expect(await first.run("kept")).toMatchObject({ status: "ok", value: "42" });
    await first.close();
    expect(deleted.slice(1)).toEqual([`sandboxclaims ${held?.metadata.name}`, `pods ${name}`]);
  });

  test("that no controller hands out are replaced by codecell's own after a time, unless they are required", async () => {
    const double = await cluster();
    const { sessions, kept } = await gateway(double, { startMs: 8_000 });
    expect(kept).toBe(1);
    await warm(double);
    if (double.agentSandbox) double.agentSandbox.isStopped = true;
    const session = await sessions.openSession();
    expect(await session.run("1 + 1")).toMatchObject({ status: "ok", value: "2" });
    expect(podsOf(double).filter((pod) => owners(pod).length === 0)).toHaveLength(1);
    expect(all(double, sandboxClaims)).toEqual([]);

    const { sessions: strict } = await gateway(double, { startMs: 8_000, claims: "on" });
    await expect(strict.openSession()).rejects.toMatchObject({
      code: "cell_start_failed",
      message: expect.stringMatching(/controller did not answer the claim \S+ within 2 s/),
      hint: expect.stringContaining("CODECELL_KUBERNETES_CLAIMS=off"),
    });
  });

  test("that ended while they waited go back, and the next claim has a pod that runs", async () => {
    const double = await cluster();
    const { sessions } = await gateway(double, { claims: "on" });
    await warm(double);
    const [ended] = podsOf(double);
    double.nodes.evict(double.namespace, ended?.metadata.name ?? "");
    const { deleted } = deletions(double);
    const session = await sessions.openSession();
    expect(await session.run("1 + 1")).toMatchObject({ status: "ok", value: "2" });
    expect(deleted).toEqual([expect.stringMatching(/^sandboxclaims /)]);
    await expect.poll(() => podsOf(double).map(uidOf)).not.toContain(ended && uidOf(ended));
  });

  test("that the cluster refuses to create are missing with its reason", async () => {
    const double = await cluster();
    if (double.agentSandbox) double.agentSandbox.refusal = "exceeded quota: cells";
    const { sessions } = await gateway(double, { startMs: 4_000, claims: "on" });
    await expect(sessions.openSession()).rejects.toMatchObject({
      code: "cell_start_failed",
      message: expect.stringMatching(/did not appear within 4 s: ReconcilerError: Error seen: exceeded quota: cells$/),
    });
    expect(all(double, sandboxClaims)).toEqual([]);
  });

  test("do not start on a node that ignores their user namespace, and say so", async () => {
    const double = await cluster();
    const { sessions } = await gateway(double);
    await warm(double);
    double.nodes.hasUserNamespaces = false; // since the gateway tried it
    for (const { metadata } of podsOf(double)) {
      deleteObject(double.store, pods, { namespace: double.namespace, name: metadata.name }, {});
    }
    await expect(sessions.openSession()).rejects.toMatchObject({
      ...{ code: "cell_start_failed", message: expect.stringContaining("no user namespace of its own") },
    });
  });

  test("of a gateway that died are removed by another one, the claims first", async () => {
    const double = await cluster({ nodes: [] });
    const labels = { "app.kubernetes.io/managed-by": "codecell", "codecell/gateway": "dead" };
    const made = { metadata: { name: "codecell-dead-pool-1", labels }, spec: {} } as unknown as ApiObject;
    for (const resource of [sandboxTemplates, sandboxWarmPools, sandboxClaims])
      double.store.create(resource, double.namespace, made);
    const foreign = { metadata: { name: "theirs", labels: { app: "other" } }, spec: {} } as unknown as ApiObject;
    double.store.create(sandboxClaims, double.namespace, foreign);
    const { deleted } = deletions(double);
    const { kubeconfig, namespace } = double;
    using api = new ClusterApi(await openConnection({ ...kubernetesSettings({}), kubeconfig, namespace }));
    await new Orphans(api, "own", silentLogger).look();
    const kinds = ["sandboxclaims", "sandboxwarmpools", "sandboxtemplates"];
    expect(deleted).toEqual(kinds.map((kind) => `${kind} codecell-dead-pool-1`));
    expect(all(double, sandboxClaims).map(({ metadata }) => metadata.name)).toEqual(["theirs"]);
  });

  describe("are not used", () => {
    test("where its resources are not served", async () => {
      const double = await cluster({ hasAgentSandbox: false });
      const { sessions, kept } = await gateway(double);
      expect(kept).toBe(0);
      expect(await (await sessions.openSession()).run("1 + 1")).toMatchObject({ status: "ok" });
      await expect(gateway(double, { claims: "on" })).rejects.toMatchObject({
        code: "runner_unavailable",
        message: expect.stringContaining("does not serve extensions.agents.x-k8s.io/v1beta1"),
      });
    });

    test("where nodes give pods no user namespace: pods of one pool would share a user", async () => {
      const double = await cluster();
      double.nodes.hasUserNamespaces = false;
      expect((await gateway(double)).kept).toBe(0);
      expect(all(double, sandboxWarmPools)).toEqual([]);
      await expect(gateway(double, { claims: "on" })).rejects.toMatchObject({
        message: expect.stringContaining("nodes ignore `hostUsers: false`"),
        hint: expect.stringContaining("Kubernetes 1.33"),
      });
    });

    test("without the rights for them, and the error names what is missing where they are required", async () => {
      const rules = requiredRules.map(({ apiGroup, resource, verbs }) => ({
        ...{ apiGroups: [apiGroup], resources: [resource], verbs },
      }));
      const double = await cluster({ user: { name: "gateway", grants: [{ namespace: "cells", rules }] } });
      expect((await gateway(double)).kept).toBe(0);
      await expect(gateway(double, { claims: "on" })).rejects.toMatchObject({
        message: expect.stringContaining("create sandboxclaims"),
        hint: expect.stringContaining("add to its Role in cells"),
      });
    });

    test("when the operator turned them off, and for a pool of one", async () => {
      const double = await cluster();
      expect((await gateway(double, { claims: "off" })).kept).toBe(0);
      const runner = runnerOn(double);
      opened.push(runner);
      expect(await runner.keepWarm?.(parsePolicy({ session: { pool: 1 } }))).toBe(0);
      expect(all(double, sandboxWarmPools)).toEqual([]);
    });
  });
});
