import { describe, expect, test } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import type { KubernetesRunnerOptions } from "../../src/runners/kubernetes/runner.ts";
import { skippedWithout } from "../contract/required.ts";
import { configMaps, networkPolicies, pods } from "../fakes/kubernetes-api/api/resource-table.ts";
import { doubleAvailability } from "../fakes/kubernetes-api/availability.ts";
import { KubernetesApiDouble } from "../fakes/kubernetes-api/kubernetes-api-double.ts";
import { hasIpv6 } from "../fakes/kubernetes-api/node/pod-network.ts";
import { podsOf, runnerOn, sessionsOn } from "./fake-cluster.ts";

const probe = await doubleAvailability();

/** What a new process says of the network, and how many probe pods it needed. */
async function askedBy(double: KubernetesApiDouble, options: Partial<KubernetesRunnerOptions> = {}) {
  let probes = 0;
  const unsubscribe = double.store.subscribe(({ type, resource, object }) => {
    if (type === "ADDED" && resource === pods && object.metadata.labels?.["codecell/role"] === "probe") probes++;
  });
  try {
    await using runner = runnerOn(double, { network: "policy", ...options });
    const { rules } = await runner.plan(parsePolicy({}));
    return { isClosed: rules.some(({ rule }) => rule === "net.enabled"), probes };
  } finally {
    unsubscribe();
  }
}

const believed = { isClosed: true, probes: 0 };
const tried = { isClosed: true, probes: 3 };

// rights.test.ts has a network that enforces them
describe.skipIf(process.getuid?.() !== 0)("a cluster whose cells a NetworkPolicy closes", () => {
  describe("and whose network", skippedWithout("kubernetes", probe), () => {
    test("ignores policies is refused, and no probe pod is left", async () => {
      await using double = await KubernetesApiDouble.start({ network: "ignores" });
      await expect(sessionsOn(double, {}, { network: "policy" })).rejects.toMatchObject({
        code: "policy_refused",
        message: expect.stringContaining("net.enabled"),
      });
      await expect.poll(() => podsOf(double, "probe")).toEqual([]);
    });

    test.skipIf(!hasIpv6)("enforces policies for IPv4 alone is refused, and the open addresses are named", async () => {
      await using double = await KubernetesApiDouble.start({ network: "enforces for IPv4" });
      const sessions = sessionsOn(double, {}, { network: "policy" });
      await expect(sessions).rejects.toThrow(
        /reached or was reached: another pod at fd00:244::\S+ \(tcp\), .*another pod on its link at fe80::\S+ \(udp\).* a cell on its link at fe80::/,
      );
    });

    test("enforces policies is tried once, but anew for pods on other nodes and for a policy that was created again", async () => {
      await using double = await KubernetesApiDouble.start({ network: "enforces" });
      const { store, namespace } = double;
      expect(await askedBy(double)).toEqual(tried);
      expect(await askedBy(double)).toEqual(believed);
      expect(await askedBy(double, { nodeSelector: { "kubernetes.io/hostname": "node-b" } })).toEqual(tried);
      expect(await askedBy(double)).toEqual(believed);
      store.remove(networkPolicies, namespace, "codecell-no-network");
      expect(await askedBy(double)).toEqual(tried);
      expect(await askedBy(double)).toEqual(believed);
    });

    test("stops enforcing policies is refused to whoever tries it, and afterwards to others", async () => {
      await using double = await KubernetesApiDouble.start({ network: "enforces" });
      expect(await askedBy(double)).toEqual(tried);
      await double.network?.setEngine("ignores");
      expect(await askedBy(double)).toEqual(believed);
      expect(await askedBy(double, { mustProve: true })).toMatchObject({ isClosed: false });
      const roles = double.store.list(configMaps, undefined).map(({ metadata }) => metadata.labels?.["codecell/role"]);
      expect(roles).not.toContain("proof");
      expect(await askedBy(double)).toMatchObject({ isClosed: false });
    });
  });
});
