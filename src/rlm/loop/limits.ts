import { CodecellError } from "../../lib/errors.ts";

/** Limits of a run. The caps on calls, tokens and money hold for the whole tree; a sub-agent gets what is left. */
export interface RlmLimits {
  /** replies of the root model */
  readonly maxIters: number;
  /** model calls below the root: `llm_query` and everything that sub-agents do; null: no limit */
  readonly maxLlmCalls: number | null;
  /** null: no limit */
  readonly maxTokens: number | null;
  /** US dollars; null: no limit */
  readonly maxUsd: number | null;
  /** levels of sub-agents below the root; at the last one `rlm_query` asks a model once */
  readonly maxDepth: number;
  readonly maxWallMs: number;
  /** how long the code of one turn may run, without the time in which it waits for the host */
  readonly execTimeoutMs: number;
  /** how much of the output of one turn the model sees */
  readonly maxOutputChars: number;
  /** of one `llm_query` */
  readonly maxPromptChars: number;
  /** turns in a row that fail */
  readonly maxConsecutiveErrors: number;
  /** refused SUBMITs */
  readonly submitRetries: number;
  /** most tokens of one reply of the root model */
  readonly maxReplyTokens: number;
  /** most tokens of one answer to `llm_query`, and its default */
  readonly maxAnswerTokens: number;
}

export const defaultLimits: RlmLimits = {
  maxIters: 20,
  maxLlmCalls: 50,
  maxTokens: 2_000_000,
  maxUsd: 1,
  maxDepth: 1,
  maxWallMs: 600_000,
  execTimeoutMs: 120_000,
  maxOutputChars: 10_000,
  maxPromptChars: 400_000,
  maxConsecutiveErrors: 5,
  submitRetries: 3,
  maxReplyTokens: 8192,
  maxAnswerTokens: 8192,
};

/** Deeper trees are slower and no better. */
const mostDepth = 3;
const mayBeZero: ReadonlySet<string> = new Set(["maxDepth", "maxLlmCalls", "submitRetries"]);
const mayBeNull: ReadonlySet<string> = new Set(["maxLlmCalls", "maxTokens", "maxUsd"]);

/** The defaults with the given limits, which are checked. */
export function limitsFrom(given: Partial<RlmLimits> = {}): RlmLimits {
  for (const [name, value] of Object.entries(given) as [string, number | null | undefined][]) {
    if (!Object.hasOwn(defaultLimits, name)) {
      throw new CodecellError("usage", `there is no limit named ${name}`, {
        hint: `limits are ${Object.keys(defaultLimits).join(", ")}`,
      });
    }
    if (value !== undefined) checkLimit(name, value);
  }
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { ...defaultLimits, ...set };
}

function checkLimit(name: string, value: number | null): void {
  if (value === null && mayBeNull.has(name)) return;
  const isWhole = name === "maxUsd" || Number.isInteger(value);
  const isFine =
    typeof value === "number" &&
    Number.isFinite(value) &&
    isWhole &&
    value >= (mayBeZero.has(name) ? 0 : Number.MIN_VALUE);
  if (isFine && (name !== "maxDepth" || value <= mostDepth)) return;
  const most = name === "maxDepth" ? ` from 0 to ${mostDepth}` : mayBeZero.has(name) ? " from 0" : " above 0";
  throw new CodecellError("usage", `${name} is ${String(value)}`, {
    hint: `use a ${name === "maxUsd" ? "number" : "whole number"}${most}${mayBeNull.has(name) ? ", or null for no limit" : ""}`,
  });
}

/** Limits that a caller asks for, within those of its parent: a call may lower a limit, and never raise it. */
export function lowerLimits(parent: RlmLimits, asked: Partial<RlmLimits>): RlmLimits {
  const wanted = limitsFrom({ ...parent, ...asked });
  const entries = Object.entries(parent).map(([name, most]) => {
    const value = wanted[name as keyof RlmLimits];
    if (most === null) return [name, value] as const;
    return [name, value === null ? most : Math.min(value, most)] as const;
  });
  return Object.fromEntries(entries) as unknown as RlmLimits;
}
