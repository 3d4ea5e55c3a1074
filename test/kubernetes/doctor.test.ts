import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packageRoot } from "../../src/lib/files/package-root.ts";
import { skippedWithout } from "../contract/required.ts";
import { CodecellProcess, launcher } from "../e2e/codecell-process.ts";
import { documentsOf } from "../fakes/fake-helm/fake-helm.ts";
import type { PolicyRule } from "../fakes/kubernetes-api/api/access-rules.ts";
import { resources } from "../fakes/kubernetes-api/api/resource-table.ts";
import { doubleAvailability } from "../fakes/kubernetes-api/availability.ts";
import { KubernetesApiDouble } from "../fakes/kubernetes-api/kubernetes-api-double.ts";

const namespace = "codecell-cells";
const probe = await doubleAvailability();

/** The service account of the manifests: it has the rules of their Role and nothing else. */
async function gatewayAccount(): Promise<{ name: string; rules: PolicyRule[] }> {
  const text = await readFile(join(packageRoot(), "deploy/manifests/codecell.yaml"), "utf8");
  const role = documentsOf(text).find(({ kind }) => kind === "Role") as { rules: PolicyRule[] };
  return { name: "system:serviceaccount:codecell:codecell", rules: role.rules };
}

describe(
  "codecell doctor --cluster, as people start it, on a fake cluster",
  skippedWithout("kubernetes", probe),
  () => {
    let double: KubernetesApiDouble;
    let home: string;
    beforeAll(async () => {
      if (!probe.available) return;
      const { name, rules } = await gatewayAccount();
      double = await KubernetesApiDouble.start({ namespace, user: { name, grants: [{ namespace, rules }] } });
      home = await mkdtemp(join(tmpdir(), "cc-cluster-doctor-"));
    });
    afterAll(async () => {
      await double?.[Symbol.asyncDispose]();
      if (home !== undefined) await rm(home, { recursive: true, force: true });
    });

    async function doctor(variables: Record<string, string>, ...options: string[]) {
      const env = {
        ...{ KUBECONFIG: double.kubeconfig, CODECELL_POLICY: "" },
        ...{
          CODECELL_KUBERNETES_NAMESPACE: namespace,
          CODECELL_KUBERNETES_IMAGE: "codecell-python:test",
          ...variables,
        },
      };
      const argv = ["doctor", "--cluster", "--json", ...options];
      const { code, stdout, stderr } = await new CodecellProcess(launcher, argv, { env, cwd: home }).finished;
      if (stdout === "") throw new Error(stderr);
      const { usable, checks } = JSON.parse(stdout) as { usable: boolean; checks: { name: string; state: string }[] };
      return { code, usable, states: Object.fromEntries(checks.map(({ name, state }) => [name, state])) };
    }

    test("with the rights of the manifests and nothing else, a cell runs code and is gone afterwards", async () => {
      const { code, usable, states } = await doctor({}, "--probe");
      expect(states).toMatchObject({ rights: "ok", "other rights": "ok", pods: "ok", cells: "ok", network: "ok" });
      expect([code, usable]).toEqual([0, true]);
      expect(
        resources
          .filter(({ plural }) => /^(?:pods|leases)$/.test(plural))
          .flatMap((one) => double.store.list(one, undefined)),
      ).toEqual([]);
    });

    test("it exits with 4 in a namespace where the account has no rights", async () => {
      const { code, states } = await doctor({ CODECELL_KUBERNETES_NAMESPACE: "elsewhere" });
      expect({ code, states }).toMatchObject({
        code: 4,
        states: { rights: "missing", pods: "missing", gateways: "unknown" },
      });
    });
  },
);
