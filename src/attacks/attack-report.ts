import { type AttackKind, type AttackResult, type AttackTier, type AttackVerdict, attackKinds } from "./attack.ts";

/** What became of one tier: its results, or why there are none. */
export type TierReport =
  | {
      readonly available: true;
      readonly tier: AttackTier;
      readonly version: string;
      readonly durationMs: number;
      readonly results: readonly AttackResult[];
    }
  | { readonly available: false; readonly tier: AttackTier; readonly reason: string; readonly hint: string };

/** How many attacks ended each way. */
export type VerdictCounts = Readonly<Record<AttackVerdict, number>>;

export function countVerdicts(results: readonly AttackResult[]): VerdictCounts {
  const counts = { contained: 0, harmed: 0, failed: 0, "not tried": 0 };
  for (const { verdict } of results) counts[verdict]++;
  return counts;
}

/** The kinds that occur among the results, in the usual order. */
export function kindsOf(results: readonly AttackResult[]): AttackKind[] {
  return attackKinds.filter((kind) => results.some(({ attack }) => attack.kind === kind));
}

/** The worst verdict of all: one harm outweighs everything, and nothing that was tried is a failure too. */
export function overallVerdict(tiers: readonly TierReport[]): "contained" | "harmed" | "failed" {
  const results = tiers.flatMap((tier) => (tier.available ? tier.results : []));
  const { contained, harmed, failed } = countVerdicts(results);
  if (harmed > 0) return "harmed";
  return failed > 0 || contained === 0 ? "failed" : "contained";
}
