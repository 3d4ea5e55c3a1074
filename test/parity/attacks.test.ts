import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import {
  type Attack,
  type AttackKind,
  type AttackResult,
  type AttackTier,
  attackKinds,
} from "../../src/attacks/attack.ts";
import { attacks } from "../../src/attacks/catalogue/index.ts";
import { AttackHost } from "../../src/attacks/host/attack-host.ts";
import { attackTier } from "../../src/attacks/run/run-suite.ts";
import type { SandboxRunner } from "../../src/runners/runner.ts";
import type { ContainersContext } from "../containers/setup.ts";
import { skipOrFail } from "../contract/required.ts";
import { probeSrt, testedSrtRunner } from "../support/srt.ts";
import { isThorough } from "../support/thorough.ts";
import { isMissing, testsContainersOnly, tiersOnePerKernel } from "../support/tiers.ts";

interface AttackedTier {
  readonly name: string;
  readonly tier: AttackTier;
  readonly make: () => SandboxRunner;
  readonly isMissing: boolean;
}

const mountable = (inject("containers") as ContainersContext | undefined)?.mountable;
/** Ends a suite that hangs; a busy machine may take many times as long as an idle one. */
const suiteMs = 600_000;

async function hasNoSrt(): Promise<boolean> {
  if (testsContainersOnly) return true;
  await using runner = testedSrtRunner();
  return skipOrFail("srt", await probeSrt(runner));
}

const attacked: readonly AttackedTier[] = [
  ...(await Promise.all(
    tiersOnePerKernel.map(async (tier) => ({
      ...tier,
      tier: attackTierOf(tier.name),
      isMissing: await isMissing(tier),
    })),
  )),
  { name: "srt", tier: "srt", make: () => testedSrtRunner(), isMissing: await hasNoSrt() },
];

let host: AttackHost;
beforeAll(async () => {
  host = await AttackHost.open(mountable === undefined ? {} : { directory: mountable });
});
afterAll(() => host?.[Symbol.asyncDispose]());

/**
 * Kinds of attacks that a tier gets beyond those on its walls and the usual limits. Attacks on other limits, other sessions and the protocol
 * wait for limits and start cells of their own, which takes a minute per tier. The supervisor contains most of them, which is the
 * same on every tier, and its protocol is attacked on one. `ATTACKS=all` and `codecell doctor --attack` make no such difference.
 */
const furtherKinds: Readonly<Record<string, readonly AttackKind[]>> = {
  "process template": attackKinds,
  docker: ["cross-session", "persistence"],
};
const usualLimits = new Set(
  ["memory-heap", "processes", "descriptors", "disk-large-file", "disk-sparse-file", "output-flood", "time-loop"].map(
    (name) => `exhaustion/${name}`,
  ),
);

function attacksOn(name: string): readonly Attack[] {
  if (isThorough) return attacks;
  if (name === "process direct") return []; // its walls are attacked by test/escape, and its template has the same supervisor
  const kinds: readonly AttackKind[] = ["escape", "exfiltration", ...(furtherKinds[name] ?? [])];
  return attacks.filter(({ id, kind }) => kinds.includes(kind) || usualLimits.has(id));
}

describe.each(attacked.filter(({ isMissing: isAbsent }) => !isAbsent))(
  "the attack suite in $name",
  ({ name, tier, make }) => {
    const chosen = attacksOn(name);
    const kinds = attackKinds.filter((kind) => chosen.some((attack) => attack.kind === kind));
    let results: readonly AttackResult[] = [];
    beforeAll(async () => {
      results = await attackTier({ name: tier, make }, host, { attacks: chosen, limitMs: suiteMs });
    }, 2 * suiteMs);

    test.each(kinds)("contains every attack of the kind %s, or says why it was not tried", (kind) => {
      const ofKind = results.filter(({ attack }) => attack.kind === kind);
      const wrong = ofKind.filter(({ verdict }) => verdict === "harmed" || verdict === "failed");
      // one text, so that a failure shows all of it where reports shorten lists
      expect(wrong.map(({ attack, verdict, detail }) => `${attack.id} ${verdict}: ${detail}`).join("\n")).toBe("");
      expect(ofKind).toHaveLength(chosen.filter((attack) => attack.kind === kind).length);
    });

    const left = attacks.length - chosen.length;
    test.runIf(left === 0)(left === 0 ? "tries every attack" : `tries ${left} more attacks with ATTACKS=all`, () => {
      expect(results).toHaveLength(attacks.length);
    });
  },
);

function attackTierOf(name: string): AttackTier {
  if (name === "docker") return "container";
  return name.startsWith("process") ? "process" : (name as AttackTier);
}
