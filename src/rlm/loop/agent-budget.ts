import type { Amount } from "../../llm/budget/amounts.ts";
import { Budget } from "../../llm/budget/budget.ts";
import type { RlmLimits } from "./limits.ts";

const thresholds = [50, 80, 95] as const;
const kinds = ["calls", "tokens", "usd"] as const;
export type BudgetKind = (typeof kinds)[number];
export type Left = Readonly<Record<BudgetKind, number | null>>;

/** What an agent may spend. All agents of a tree are charged to the root's budgets too, so they cannot exceed them together. */
export class AgentBudget {
  /** tokens and money of its own turns */
  readonly amounts: Budget;
  /** calls below the root: counted apart, because the root's own turns have a limit of their own */
  readonly #subCalls: Budget;
  #subAmounts: Budget;
  readonly #countsTurns: boolean;
  readonly #warned = new Map<BudgetKind, number>();

  private constructor(amounts: Budget, subCalls: Budget, countsTurns: boolean) {
    this.amounts = amounts;
    this.#subAmounts = amounts;
    this.#subCalls = subCalls;
    this.#countsTurns = countsTurns;
  }

  /** `operator`: a budget that several runs share. */
  static forRoot({ maxLlmCalls, maxTokens, maxUsd }: RlmLimits, operator?: Budget): AgentBudget {
    const caps = { ...(maxTokens !== null && { tokens: maxTokens }), ...(maxUsd !== null && { usd: maxUsd }) };
    const calls = new Budget({ caps: maxLlmCalls === null ? {} : { calls: maxLlmCalls } });
    return new AgentBudget(operator ? operator.child({ caps }) : new Budget({ caps }), calls, false);
  }

  /** what sub-calls of the current turn are charged to */
  get subAmounts(): Budget {
    return this.#subAmounts;
  }

  /** For a sub-agent: everything that is left now, and never more than that. */
  child(): AgentBudget {
    const { calls: _calls, ...caps } = this.#subAmounts.snapshot().left;
    const { calls } = this.#subCalls.snapshot().left;
    const callOptions =
      calls === undefined ? { caps: {} } : { caps: { calls }, finalReserve: { calls: Math.min(1, calls) } };
    const amounts = this.#subAmounts.child({ caps });
    return new AgentBudget(amounts, this.#subCalls.child(callOptions), true);
  }

  /** Takes sub-calls, or throws `budget_exhausted` and takes none. */
  takeCalls(calls: number): void {
    const amount = { ...oneCall, calls };
    this.#subCalls.reserve(amount).settle(amount);
  }

  /** A turn of a sub-agent is a call below the root. */
  takeTurn(isFinal: boolean): void {
    if (!this.#countsTurns) return;
    this.#subCalls.reserve(oneCall, { isFinal }).settle(oneCall);
  }

  /**
   * Before code runs: what its sub-calls may spend is what is left without a last turn and an extraction, or without one of them
   * if there is not enough for both. Returns the cap that allows no turn after the next one.
   */
  keepLastTurn(worst: Amount): "tokens" | "usd" | undefined {
    const { left } = this.amounts.snapshot();
    const short = (["tokens", "usd"] as const).find((kind) => (left[kind] ?? Number.POSITIVE_INFINITY) < worst[kind]);
    const without = (kind: "tokens" | "usd") => {
      const [free, once] = [left[kind], worst[kind]];
      if (free === undefined) return {};
      return { [kind]: free >= 3 * once ? free - 2 * once : Math.max(0, free - once) };
    };
    this.#subAmounts = this.amounts.child({ caps: { ...without("tokens"), ...without("usd") } });
    return short;
  }

  get left(): Left {
    const { tokens = null, usd = null } = this.#subAmounts.snapshot().left;
    return { calls: this.#subCalls.snapshot().left.calls ?? null, tokens, usd };
  }

  /** Thresholds that were crossed since the last call. */
  newWarnings(): { readonly kind: BudgetKind; readonly percent: number }[] {
    return kinds.flatMap((kind) => {
      const { spent, caps } = (kind === "calls" ? this.#subCalls : this.amounts).snapshot();
      const cap = caps[kind];
      if (cap === undefined || cap === 0) return [];
      const used = (spent[kind] / cap) * 100;
      const percent = thresholds.findLast((threshold) => used >= threshold) ?? 0;
      if (percent <= (this.#warned.get(kind) ?? 0)) return [];
      this.#warned.set(kind, percent);
      return [{ kind, percent }];
    });
  }
}

const oneCall = { calls: 1, tokens: 0, usd: 0 } as const;

const kindNames: Readonly<Record<BudgetKind, string>> = { calls: "sub-call", tokens: "token", usd: "money" };

export function warningText({ kind, percent }: { kind: BudgetKind; percent: number }): string {
  return `Warning: ${percent} % of the ${kindNames[kind]} budget is used.`;
}

/**
 * `Turn 3/20. Left: 41 sub-calls, 1,204,000 tokens, $0.83.` Without the time that is left: a replay takes another time, and its
 * requests must be the recorded ones.
 */
export function turnLine(turn: number, of: number, left: Left): string {
  const parts = [
    ...(left.calls === null ? [] : [`${number(left.calls)} sub-calls`]),
    ...(left.tokens === null ? [] : [`${number(left.tokens)} tokens`]),
    ...(left.usd === null ? [] : [`$${left.usd.toFixed(left.usd < 0.1 ? 4 : 2)}`]),
  ];
  return `Turn ${turn}/${of}.${parts.length === 0 ? "" : ` Left: ${parts.join(", ")}.`}`;
}

function number(value: number): string {
  return Math.floor(value).toLocaleString("en-US");
}
