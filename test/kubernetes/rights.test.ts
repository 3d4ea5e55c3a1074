import { describe, expect, test } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { policyHash } from "../../src/policy/hash.ts";
import { type AccessRule, claimRules, requiredRules } from "../../src/runners/kubernetes/verbs.ts";
import { skippedWithout } from "../contract/required.ts";
import type { ApiUser, PolicyRule } from "../fakes/kubernetes-api/api/access-rules.ts";
import { doubleAvailability } from "../fakes/kubernetes-api/availability.ts";
import { type DoubleOptions, KubernetesApiDouble } from "../fakes/kubernetes-api/kubernetes-api-double.ts";
import { runnerOn, sessionsOn } from "./fake-cluster.ts";

const probe = await doubleAvailability();
const namespace = "cells";
/** Only servers since 1.35 ask for `create` on streams. */
const versions = [
  { version: "1.34.0", unusedOnStreams: ["create pods/attach", "create pods/portforward"] },
  { version: "1.36.0", unusedOnStreams: [] },
];
/** Used in rare moments only. */
const rare = ["get leases", "get pods", "list configmaps"];

/** The rights that the manifests give, without one. */
function gateway(
  without?: { readonly verb: string; readonly resource: string },
  given: readonly AccessRule[] = requiredRules,
): ApiUser {
  const rules = given.map(
    ({ apiGroup, resource, verbs }): PolicyRule => ({
      ...{ apiGroups: [apiGroup], resources: [resource] },
      verbs: verbs.filter((verb) => without?.verb !== verb || without.resource !== resource),
    }),
  );
  return { name: "system:serviceaccount:codecell:codecell", grants: [{ namespace, rules }] };
}

describe("with the rights of the manifests", skippedWithout("kubernetes", probe), () => {
  /** Everything that a gateway does: it opens a session both ways, tries the network, and closes. */
  async function usedBy(options: DoubleOptions): Promise<ReadonlySet<string>> {
    await using double = await KubernetesApiDouble.start({ namespace, ...options });
    for (const settings of [{ channel: "attach" }, { channel: "portforward", network: "policy" }] as const) {
      await using codecell = await sessionsOn(double, {}, settings);
      await using session = await codecell.openSession();
      const result = await session.run("40 + 2");
      expect(result).toMatchObject({ status: "ok", value: "42" });
      const { how } = result.receipt.rules.find(({ rule }) => rule === "net.enabled") ?? {};
      if ("network" in settings) expect(how).toContain("NetworkPolicy");
    }
    await expectNoProbes(double);
    return double.used;
  }

  /** Another gateway, or the next call of the command line, relies on the proof of the first one. */
  async function expectNoProbes(double: KubernetesApiDouble): Promise<void> {
    const created: string[] = [];
    double.server.on("used", ({ verb, resource }) => void (verb === "create" && created.push(resource)));
    await using runner = runnerOn(double, { network: "policy" });
    const { rules } = await runner.plan(parsePolicy({}));
    expect(rules.find(({ rule }) => rule === "net.enabled")?.how).toContain("probe pods showed 1 min ago");
    expect(created).not.toContain("pods");
  }

  test.each(versions)(
    "and no other, sessions open on Kubernetes $version, and few rights stay unused",
    async (server) => {
      const { version, unusedOnStreams } = server;
      const used = await usedBy({ version, user: gateway(), network: "enforces" });
      const granted = requiredRules.flatMap(({ resource, verbs }) => verbs.map((verb) => `${verb} ${resource}`));
      expect([...used].filter((one) => !granted.includes(one))).toEqual([]);
      expect(granted.filter((one) => !used.has(one) && !rare.includes(one)).sort()).toEqual(unusedOnStreams);
    },
  );

  test("and those for agent-sandbox, warm pods come from claims; each of these rights is used", async () => {
    const user = gateway(undefined, [...requiredRules, ...claimRules]);
    await using double = await KubernetesApiDouble.start({ namespace, user, hasAgentSandbox: true });
    const policy = parsePolicy({ session: { pool: 2 } });
    {
      await using runner = runnerOn(double, { claims: "on" });
      expect(await runner.keepWarm?.(policy)).toBe(1);
      await using cell = await runner.start({ id: "one", policy, policyHash: policyHash(policy) });
      expect(cell.receipt.notes.join()).toContain("agent-sandbox made the pod");
    }
    const granted = claimRules.flatMap(({ resource, verbs }) => verbs.map((verb) => `${verb} ${resource}`));
    expect(granted.filter((one) => !double.used.has(one))).toEqual([]);
    expect([...double.used].filter((one) => one.includes("sandbox") && !granted.includes(one))).toEqual([]);
  });

  test.each([
    { verb: "create", resource: "pods" },
    { verb: "create", resource: "configmaps" },
    { verb: "create", resource: "leases" },
  ])("but for $verb $resource, the error names what is missing", async ({ verb, resource }) => {
    await using double = await KubernetesApiDouble.start({ namespace, user: gateway({ verb, resource }) });
    const opening = sessionsOn(double).then((codecell) => codecell.openSession().finally(() => codecell.close()));
    const error = await opening.then(
      () => undefined,
      (failure: Error & { hint?: string }) => failure,
    );
    expect(error).toMatchObject({ code: "runner_unavailable" });
    expect(`${error?.message} ${error?.hint}`).toContain(`${verb} ${resource}`);
  });
});
