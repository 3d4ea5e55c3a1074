import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { AttackResult, AttackTier } from "../../src/attacks/attack.ts";
import { attacks } from "../../src/attacks/catalogue/index.ts";
import { AttackHost } from "../../src/attacks/host/attack-host.ts";
import { attackTier } from "../../src/attacks/run/run-suite.ts";
import type { ContainersContext } from "../containers/setup.ts";
import { isMissing, type Tier, tiers } from "../support/tiers.ts";

const mountable = (inject("containers") as ContainersContext | undefined)?.mountable;
const missing = await Promise.all(tiers.map(isMissing));
const suiteMs = 240_000;

let host: AttackHost;
beforeAll(async () => {
  host = await AttackHost.open(mountable === undefined ? {} : { directory: mountable });
});
afterAll(() => host?.[Symbol.asyncDispose]());

for (const [index, tier] of tiers.entries()) {
  describe.skipIf(missing[index])(`the attack suite in ${tier.name} contains a program that`, () => {
    const results = new Map<string, AttackResult>();
    beforeAll(async () => {
      for (const result of await attackTier({ name: attackTierOf(tier), make: tier.make }, host, { attacks })) {
        results.set(result.attack.id, result);
      }
    }, suiteMs);

    test.each(attacks.map(({ title, id }) => [title, id] as const))("%s", (_, id) => {
      const { verdict, detail } = results.get(id) ?? { verdict: "missing", detail: "" };
      expect(["contained", "not tried"], `${id}: ${verdict}: ${detail}`).toContain(verdict);
    });
  });
}

function attackTierOf({ name }: Tier): AttackTier {
  if (name === "docker") return "container";
  return name.startsWith("process") ? "process" : (name as AttackTier);
}
