import { describe, expect, test } from "vitest";
import { skippedWithout } from "../contract/required.ts";
import { doubleAvailability } from "../fakes/kubernetes-api/availability.ts";
import { KubernetesApiDouble } from "../fakes/kubernetes-api/kubernetes-api-double.ts";
import { podsOf, sessionsOn } from "./fake-cluster.ts";

const probe = await doubleAvailability();

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
  });
});
