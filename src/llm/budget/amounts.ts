import { CodecellError } from "../../lib/errors.ts";

/** What a budget counts. */
export const amountKinds = ["calls", "tokens", "usd"] as const;
export type AmountKind = (typeof amountKinds)[number];

/** An amount of each kind. */
export interface Amount {
  readonly calls: number;
  readonly tokens: number;
  /** US dollars */
  readonly usd: number;
}

/** Limits of a budget. A kind that is left out has none. */
export type Caps = Partial<Amount>;

/**
 * Whole numbers: calls, tokens, and billionths of a dollar. With fractions, the sum of many small costs would depend on their order,
 * and a cap could be exceeded by a rounding error.
 */
export type Units = Record<AmountKind, number>;

const unitsPerUsd = 1e9;

export function zeroUnits(): Units {
  return { calls: 0, tokens: 0, usd: 0 };
}

/** Rounds up what is spent, so that a cap is never exceeded by fractions. */
export function unitsOf(amount: Caps): Units {
  return {
    calls: Math.ceil(checked("calls", amount.calls ?? 0)),
    tokens: Math.ceil(checked("tokens", amount.tokens ?? 0)),
    usd: wholeUp(checked("usd", amount.usd ?? 0) * unitsPerUsd),
  };
}

/** Rounds down what may be spent. */
export function capUnits(caps: Caps): Partial<Units> {
  const units: Partial<Units> = {};
  if (caps.calls !== undefined) units.calls = Math.floor(checked("calls", caps.calls));
  if (caps.tokens !== undefined) units.tokens = Math.floor(checked("tokens", caps.tokens));
  if (caps.usd !== undefined) units.usd = Math.floor(checked("usd", caps.usd) * unitsPerUsd + tolerance);
  return units;
}

export function addUnits(a: Units, b: Units): Units {
  return { calls: a.calls + b.calls, tokens: a.tokens + b.tokens, usd: a.usd + b.usd };
}

export function amountOf(units: Units): Amount {
  return { calls: units.calls, tokens: units.tokens, usd: units.usd / unitsPerUsd };
}

export function partialAmountOf(units: Partial<Units>): Caps {
  return { ...units, ...(units.usd !== undefined && { usd: units.usd / unitsPerUsd }) };
}

/** For messages: `$0.0123`, `1,200 tokens`, `3 calls`. */
export function amountText(kind: AmountKind, units: number): string {
  if (kind === "usd") return `$${Number((units / unitsPerUsd).toFixed(6))}`;
  return `${units.toLocaleString("en-US")} ${units === 1 ? kind.slice(0, -1) : kind}`;
}

/** What multiplication adds to a number that is whole: 0.07 * 1e9 is a little more than 70,000,000. */
const tolerance = 1e-3;

function wholeUp(value: number): number {
  return Math.ceil(value - tolerance);
}

/** The attack: a negative or endless amount, which would widen the budget or make every later comparison false. */
function checked(kind: AmountKind, value: number): number {
  if (
    Number.isFinite(value) &&
    value >= 0 &&
    value <= Number.MAX_SAFE_INTEGER / unitsPerUsd ** (kind === "usd" ? 1 : 0)
  )
    return value;
  throw new CodecellError("usage", `a budget cannot hold ${String(value)} ${kind}: it must be a number from 0`);
}
