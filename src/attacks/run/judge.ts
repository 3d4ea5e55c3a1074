import { type Attack, type AttackTier, type AttackVerdict, forTier } from "../attack.ts";
import { statementIn } from "../program.ts";
import type { CarriedOut } from "./run-attack.ts";

/** What the end of a program means, before the host looks at its canaries. */
export function judge(
  attack: Attack,
  tier: AttackTier,
  { result, program }: CarriedOut,
): { verdict: AttackVerdict; detail: string } {
  const by = forTier(attack.containedBy, tier) ?? attack.containedBy.default;
  const isMemory = result.error?.name === "MemoryError";
  const ending = isMemory ? "out_of_memory" : result.status;
  if (ending !== "ok") {
    if (attack.endings?.includes(ending)) return { verdict: "contained", detail: `${by} (${ending})` };
    const why = result.error ? `${result.error.name}: ${result.error.message}` : result.notes.join("; ");
    return { verdict: "failed", detail: `its run ended with ${ending}${why === "" ? "" : `: ${why}`}`.slice(0, 500) };
  }
  const said = statementIn(result.stdout, program.mark);
  if (said.kind === "none") return { verdict: "failed", detail: "it ended without a verdict" };
  if (said.kind === "not tried") return { verdict: "not tried", detail: said.why };
  if (said.text === "contained") return { verdict: "contained", detail: by };
  const exception = forTier(attack.exceptions, tier);
  if (exception && said.text.startsWith(exception.verdict)) return { verdict: "contained", detail: exception.because };
  return { verdict: "harmed", detail: said.text };
}
