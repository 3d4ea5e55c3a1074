import { type Attack, type AttackResult, forTier } from "../attack.ts";
import { programOfMany, statementIn } from "../program.ts";
import type { AttackCells } from "./attack-cells.ts";
import { judgeStatement } from "./judge.ts";
import { isIntact, printedBy, runAttack, runIn } from "./run-attack.ts";

/** So many attacks share one run. More would save little, and repeat more when one does harm. */
const batchSize = 25;
const batchTimeoutMs = 20_000;

/** Attacks that one run can carry out one after the other: they are quick, and leave the interpreter as it was. */
export function isQuick({
  language,
  endings,
  hostChecks,
  needsOwnCell,
  afterIdle,
  timeoutMs,
  scenario = "plain",
}: Attack) {
  const isPlain = scenario === "plain" || scenario === "mounts" || scenario === "network";
  return (
    isPlain && ![language, endings, hostChecks, needsOwnCell, afterIdle, timeoutMs].some((one) => one !== undefined)
  );
}

/** Splits attacks, in their order, into batches of quick ones of one scenario, and single ones. */
export function inBatches(attacks: readonly Attack[]): Attack[][] {
  const batches: Attack[][] = [];
  for (const attack of attacks) {
    const last = batches.at(-1);
    const [first] = last ?? [];
    const fits = first && isQuick(first) && isQuick(attack) && first.scenario === attack.scenario;
    if (last && fits && last.length < batchSize) last.push(attack);
    else batches.push([attack]);
  }
  return batches;
}

/**
 * Carries out a batch in one run. Whatever is not contained is tried again alone, so that each verdict, and each harm that
 * the host sees, belongs to one attack.
 */
export async function runBatch(
  batch: readonly Attack[],
  cells: AttackCells,
  signal?: AbortSignal,
): Promise<AttackResult[]> {
  const tried = batch.filter((attack) => forTier(attack.notTried, cells.tier) === undefined);
  const together = tried.length > 1 ? await runTogether(tried, cells, signal) : new Map<string, AttackResult>();
  const results: AttackResult[] = [];
  for (const attack of batch) results.push(together.get(attack.id) ?? (await runAttack(attack, cells, signal)));
  return results;
}

/** The attacks that were contained, or say that they make no sense here; none if the host saw harm or the run did not end well. */
async function runTogether(
  attacks: readonly Attack[],
  cells: AttackCells,
  signal: AbortSignal | undefined,
): Promise<Map<string, AttackResult>> {
  const { host, tier } = cells;
  const scenario = attacks[0]?.scenario ?? "plain";
  const settled = new Map<string, AttackResult>();
  const started = performance.now();
  try {
    const { code, marks } = programOfMany(
      attacks.map((attack) => attack.code),
      host.facts,
    );
    const program = { code, mark: "" };
    const { result } = await runIn(await cells.shared(scenario), program, { timeoutMs: batchTimeoutMs }, signal);
    if (!isIntact(result)) await cells.replace(scenario);
    const seen = await host.harm(printedBy(result));
    if (result.status !== "ok" || seen !== undefined) return settled;
    const durationMs = Math.round((performance.now() - started) / attacks.length);
    for (const [index, attack] of attacks.entries()) {
      const judgement = judgeStatement(attack, tier, statementIn(result.stdout, marks[index] ?? ""));
      const isSettled = judgement.verdict === "contained" || judgement.verdict === "not tried";
      if (isSettled) settled.set(attack.id, { attack, tier, ...judgement, durationMs });
    }
  } catch {
    await cells.replace(scenario).catch(() => {}); // one by one, each gets the error itself
  }
  return settled;
}
