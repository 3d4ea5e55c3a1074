import { CodecellError } from "../../lib/errors.ts";
import { type AmountKind, amountText } from "./amounts.ts";

/** A cap that an amount does not fit under. Whole units. */
export interface Shortage {
  readonly kind: AmountKind;
  readonly cap: number;
  readonly spent: number;
  readonly held: number;
  /** what is kept for final calls */
  readonly kept: number;
  readonly need: number;
  /** It would fit if the other calls cost nothing. */
  readonly isTemporary: boolean;
  /** The cap is that of the budget itself, not of a parent. */
  readonly isOwn: boolean;
}

/** A call that was charged more than its worst case. */
export interface Overrun {
  readonly kind: AmountKind;
  readonly held: number;
  readonly charged: number;
}

const raise: Readonly<Record<AmountKind, string>> = {
  calls: "aggregate in code instead of calling the model, or raise the cap on calls",
  tokens: "send less text or a lower maxTokens, or raise the cap on tokens",
  usd: "send less text or a lower maxTokens, use a cheaper model, or raise the money cap",
};

export function shortageError({ kind, cap, spent, held, kept, need, isOwn }: Shortage): CodecellError {
  const text = (units: number) => amountText(kind, units);
  const parts = [
    `${text(spent)} spent`,
    ...(held > 0 ? [`${text(held)} held by calls in flight`] : []),
    ...(kept > 0 ? [`${text(kept)} kept for the last turn`] : []),
  ];
  const whose = isOwn ? "" : " of a parent";
  return new CodecellError(
    "budget_exhausted",
    `the budget does not allow this call: it needs up to ${text(need)}, and of the cap${whose} of ${text(cap)}, ${parts.join(", ")}`,
    {
      hint: raise[kind],
      details: { kind, cap: scaled(kind, cap), spent: scaled(kind, spent), held: scaled(kind, held) },
    },
  );
}

export function overrunError({ kind, held, charged }: Overrun): CodecellError {
  return new CodecellError(
    "budget_exhausted",
    `the budget is closed: a call was charged ${charged} ${kind}, more than its worst case of ${held}`,
    {
      hint: "the provider does not keep to maxTokens or adds text to prompts; use another model, or remove this cap",
      details: { kind, held, charged, overrun: true },
    },
  );
}

function scaled(kind: AmountKind, units: number): number {
  return kind === "usd" ? units / 1e9 : units;
}
