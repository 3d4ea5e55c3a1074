import { type Attack, type AttackTier, type AttackVerdict, allForTier, forTier } from "../attack.ts";
import { type Statement, statementIn } from "../program.ts";
import type { CarriedOut } from "./run-attack.ts";

/** A verdict, and by what, why or which harm. */
export interface Judgement {
  readonly verdict: AttackVerdict;
  readonly detail: string;
}

/** What the end of a program means, before the host looks at its canaries. */
export function judge(attack: Attack, tier: AttackTier, { result, program }: CarriedOut): Judgement {
  const ending = result.error?.name === "MemoryError" ? "out_of_memory" : result.status;
  if (ending === "ok") return judgeStatement(attack, tier, statementIn(result.stdout, program.mark));
  const by = forTier(attack.containedBy, tier) ?? attack.containedBy.default;
  if (attack.endings?.includes(ending)) return { verdict: "contained", detail: `${by} (${ending})` };
  const exception = allForTier(attack.exceptions, tier).find(({ verdict }) => verdict === ending);
  if (exception) return { verdict: "contained", detail: exception.because };
  const why = result.error ? `${result.error.name}: ${result.error.message}` : result.notes.join("; ");
  return { verdict: "failed", detail: `its run ended with ${ending}${why === "" ? "" : `: ${why}`}`.slice(0, 500) };
}

/** What a program's own words mean. */
export function judgeStatement(attack: Attack, tier: AttackTier, said: Statement): Judgement {
  const by = forTier(attack.containedBy, tier) ?? attack.containedBy.default;
  // A forged end of its own run comes before its verdict. What that does to the host is for the host to see.
  if (said.kind === "none" && attack.endings?.includes("ok")) return { verdict: "contained", detail: by };
  if (said.kind === "none") return { verdict: "failed", detail: "it ended without a verdict" };
  if (said.kind !== "verdict") return { verdict: said.kind, detail: said.text };
  if (said.text === "contained") return { verdict: "contained", detail: by };
  const exception = forTier(attack.exceptions, tier);
  if (exception && said.text.startsWith(exception.verdict)) return { verdict: "contained", detail: exception.because };
  return { verdict: "harmed", detail: said.text };
}
