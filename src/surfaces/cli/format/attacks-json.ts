import type { Attack } from "../../../attacks/attack.ts";
import { countVerdicts, overallVerdict, type TierReport } from "../../../attacks/attack-report.ts";

/** The object that `codecell doctor --attack --json` prints; docs/attacks.md describes it. */
export function attacksJson(
  attacks: readonly Attack[],
  tiers: readonly TierReport[],
  versions: Readonly<Record<string, string>>,
): object {
  return {
    ...versions,
    verdict: overallVerdict(tiers),
    attacks: attacks.map(({ id, kind, title }) => ({ id, kind, title })),
    tiers: tiers.map((tier) => (tier.available ? attackedTier(tier) : missingTier(tier))),
  };
}

function attackedTier({ tier, version, durationMs, results }: Extract<TierReport, { available: true }>): object {
  const counts = countVerdicts(results);
  return {
    ...{ name: tier, available: true, version, duration_ms: durationMs },
    ...{ contained: counts.contained, harmed: counts.harmed, failed: counts.failed, not_tried: counts["not tried"] },
    results: results.map(({ attack, verdict, detail, durationMs: took }) => ({
      ...{ id: attack.id, verdict: verdict.replace(" ", "_"), detail, duration_ms: took },
    })),
  };
}

function missingTier({ tier, reason, hint }: Extract<TierReport, { available: false }>): object {
  return { name: tier, available: false, reason, hint };
}
