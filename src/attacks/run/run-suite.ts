import { messageOf } from "../../lib/errors.ts";
import { type Attack, type AttackResult, forTier, type Scenario } from "../attack.ts";
import type { AttackHost } from "../host/attack-host.ts";
import { AttackCells, type AttackedTier } from "./attack-cells.ts";
import { inBatches, isQuick, runBatch } from "./run-batch.ts";

/** A tier is given up after this long; what is left of it has failed. */
const longestTierMs = 180_000;

/** Options of `attackTier`. */
export interface AttackTierOptions {
  readonly attacks: readonly Attack[];
  readonly signal?: AbortSignal | undefined;
  /** how long the tier may take; default: three minutes */
  readonly limitMs?: number;
  /** called after each attack */
  readonly onResult?: (result: AttackResult) => void;
}

/** Every attack on one tier, one after the other, so that harm has one author. Cells are gone when this returns. */
export async function attackTier(
  tier: AttackedTier,
  host: AttackHost,
  { attacks, signal, onResult, limitMs = longestTierMs }: AttackTierOptions,
): Promise<AttackResult[]> {
  const end = performance.now() + limitMs;
  const results: AttackResult[] = [];
  const cells = new AttackCells(tier, host);
  let closing: unknown;
  /** Harm that shows only after an attack has ended. */
  const blameLast = (late: string | undefined) => {
    const last = results.at(-1);
    if (!last || late === undefined) return;
    const blamed: AttackResult = { ...last, verdict: "harmed", detail: `after its end: ${late}` };
    results.splice(-1, 1, blamed);
    onResult?.(blamed);
  };
  try {
    for (const batch of inBatches(inOrder(attacks))) {
      if (signal?.aborted) break;
      blameLast(await host.harm(""));
      const isLate = performance.now() > end;
      const done = isLate
        ? batch.map((one) => outOfTime(one, tier.name, limitMs))
        : await runBatch(batch, cells, signal);
      if (signal?.aborted) break; // it was stopped, which says nothing
      for (const result of done) {
        results.push(result);
        onResult?.(result);
      }
    }
  } finally {
    closing = await cells[Symbol.asyncDispose]().then(
      () => undefined,
      (error: unknown) => error ?? new Error("unknown"),
    );
  }
  blameLast(closing === undefined ? await host.harm("") : `its cells could not be closed: ${messageOf(closing)}`);
  return results;
}

/** Quick ones first, and what takes long last. By scenario, so that cells are shared. */
function inOrder(attacks: readonly Attack[]): readonly Attack[] {
  const scenarios: readonly Scenario[] = ["plain", "mounts", "workspace", "network", "neighbour", "next-session"];
  const rank = (attack: Attack) => {
    const { scenario = "plain", needsOwnCell = false, kind } = attack;
    const cost = isQuick(attack) ? 0 : kind === "exhaustion" ? 2 : 1;
    return cost * 100 + scenarios.indexOf(scenario) * 2 + (needsOwnCell ? 1 : 0);
  };
  return [...attacks].sort((a, b) => rank(a) - rank(b));
}

function outOfTime(attack: Attack, tier: AttackResult["tier"], limitMs: number): AttackResult {
  const reason = forTier(attack.notTried, tier);
  const detail = reason ?? `the ${limitMs / 1000} s for this tier were used up`;
  return { attack, tier, verdict: reason === undefined ? "failed" : "not tried", detail, durationMs: 0 };
}
