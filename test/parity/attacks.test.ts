import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { type AttackResult, type AttackTier, attackKinds } from "../../src/attacks/attack.ts";
import { attacks } from "../../src/attacks/catalogue/index.ts";
import { AttackHost } from "../../src/attacks/host/attack-host.ts";
import { attackTier } from "../../src/attacks/run/run-suite.ts";
import type { SandboxRunner } from "../../src/runners/runner.ts";
import type { ContainersContext } from "../containers/setup.ts";
import { skipOrFail } from "../contract/required.ts";
import { probeSrt, testedSrtRunner } from "../support/srt.ts";
import { isMissing, testsContainersOnly, tiers } from "../support/tiers.ts";

interface AttackedTier {
  readonly name: string;
  readonly tier: AttackTier;
  readonly make: () => SandboxRunner;
  readonly isMissing: boolean;
}

const mountable = (inject("containers") as ContainersContext | undefined)?.mountable;
const suiteMs = 200_000; // a tier may take 180 s

async function hasNoSrt(): Promise<boolean> {
  if (testsContainersOnly) return true;
  await using runner = testedSrtRunner();
  return skipOrFail("srt", await probeSrt(runner));
}

const attacked: readonly AttackedTier[] = [
  ...(await Promise.all(
    tiers.map(async (tier) => ({ ...tier, tier: attackTierOf(tier.name), isMissing: await isMissing(tier) })),
  )),
  { name: "srt", tier: "srt", make: () => testedSrtRunner(), isMissing: await hasNoSrt() },
];

let host: AttackHost;
beforeAll(async () => {
  host = await AttackHost.open(mountable === undefined ? {} : { directory: mountable });
});
afterAll(() => host?.[Symbol.asyncDispose]());

describe.each(attacked.filter(({ isMissing: isAbsent }) => !isAbsent))(
  "the attack suite in $name",
  ({ tier, make }) => {
    let results: readonly AttackResult[] = [];
    let tookMs = 0;
    beforeAll(async () => {
      const started = performance.now();
      results = await attackTier({ name: tier, make }, host, { attacks });
      tookMs = performance.now() - started;
    }, suiteMs);

    test.each(attackKinds)("contains every attack of the kind %s, or says why it was not tried", (kind) => {
      const ofKind = results.filter(({ attack }) => attack.kind === kind);
      const wrong = ofKind.filter(({ verdict }) => verdict === "harmed" || verdict === "failed");
      expect(wrong.map(({ attack, verdict, detail }) => `${attack.id} ${verdict}: ${detail}`)).toEqual([]);
      expect(ofKind).toHaveLength(attacks.filter((attack) => attack.kind === kind).length);
    });

    test("ends before the three minutes that a tier may take", () => {
      expect(tookMs).toBeLessThan(180_000);
    });
  },
);

function attackTierOf(name: string): AttackTier {
  if (name === "docker") return "container";
  return name.startsWith("process") ? "process" : (name as AttackTier);
}
