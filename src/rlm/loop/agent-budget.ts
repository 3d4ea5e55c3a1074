import { Budget } from "../../llm/budget/budget.ts";
import type { RlmLimits } from "./limits.ts";

/** The part of each cap that is kept for an agent's last turn and for the extraction. */
const reservePart = 0.1;
const thresholds = [50, 80, 95] as const;
const kinds = ["calls", "tokens", "usd"] as const;
export type BudgetKind = (typeof kinds)[number];
export type Left = Readonly<Record<BudgetKind, number | null>>;

/** What an agent may spend. All agents of a tree are charged to the root's budgets too, so they cannot exceed them together. */
export class AgentBudget {
  /** tokens and money of all its calls */
  readonly amounts: Budget;
  /** calls below the root: counted apart, because the root's own turns have a limit of their own */
  readonly #subCalls: Budget;
  readonly #countsTurns: boolean;
  readonly #warned = new Map<BudgetKind, number>();

  private constructor(amounts: Budget, subCalls: Budget, countsTurns: boolean) {
    this.amounts = amounts;
    this.#subCalls = subCalls;
    this.#countsTurns = countsTurns;
  }

  /** `operator`: a budget that several runs share. */
  static forRoot({ maxLlmCalls, maxTokens, maxUsd }: RlmLimits, operator?: Budget): AgentBudget {
    const caps = { ...(maxTokens !== null && { tokens: maxTokens }), ...(maxUsd !== null && { usd: maxUsd }) };
    const options = { caps, finalReserve: reserveOf(caps) };
    const calls = new Budget({ caps: maxLlmCalls === null ? {} : { calls: maxLlmCalls } });
    return new AgentBudget(operator ? operator.child(options) : new Budget(options), calls, false);
  }

  /** For a sub-agent: everything that is left now, and never more than that. */
  child(): AgentBudget {
    const { calls: _calls, ...caps } = this.amounts.snapshot().left;
    const { calls } = this.#subCalls.snapshot().left;
    const callOptions =
      calls === undefined ? { caps: {} } : { caps: { calls }, finalReserve: { calls: Math.min(1, calls) } };
    const amounts = this.amounts.child({ caps, finalReserve: reserveOf(caps) });
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

  get left(): Left {
    const { tokens = null, usd = null } = this.amounts.snapshot().left;
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

function reserveOf(caps: { readonly tokens?: number; readonly usd?: number }) {
  return {
    ...(caps.tokens !== undefined && { tokens: Math.floor(caps.tokens * reservePart) }),
    ...(caps.usd !== undefined && { usd: caps.usd * reservePart }),
  };
}

const kindNames: Readonly<Record<BudgetKind, string>> = { calls: "sub-call", tokens: "token", usd: "money" };

export function warningText({ kind, percent }: { kind: BudgetKind; percent: number }): string {
  return `Warning: ${percent} % of the ${kindNames[kind]} budget is used.`;
}

/** `Turn 3/20. Left: 41 sub-calls, 1,204,000 tokens, $0.83, 540 s.` */
export function turnLine(turn: number, of: number, left: Left, leftMs: number): string {
  const parts = [
    ...(left.calls === null ? [] : [`${number(left.calls)} sub-calls`]),
    ...(left.tokens === null ? [] : [`${number(left.tokens)} tokens`]),
    ...(left.usd === null ? [] : [`$${left.usd.toFixed(left.usd < 0.1 ? 4 : 2)}`]),
    `${number(Math.round(leftMs / 1000))} s`,
  ];
  return `Turn ${turn}/${of}. Left: ${parts.join(", ")}.`;
}

function number(value: number): string {
  return Math.floor(value).toLocaleString("en-US");
}
