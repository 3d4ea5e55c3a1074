import * as z from "zod";

/** Limits that can end a run. */
export const limitKinds = ["turns", "errors", "submits", "calls", "tokens", "usd", "time"] as const;
/** The limit that ended a run. */
export type LimitKind = (typeof limitKinds)[number];

/**
 * How a run ended. `extracted`: a limit was reached, and a last call read the outputs off the conversation. `limit:…`: it was
 * reached and there are no outputs.
 */
export const finishReasons = [
  "submitted",
  "extracted",
  ...limitKinds.map((kind) => `limit:${kind}` as const),
  "error",
  "cancelled",
] as const;
/** How a run ended. */
export type FinishReason = (typeof finishReasons)[number];

const count = z.number().int().nonnegative();
const amount = z.number().nonnegative();
const usage = z.object({
  inputTokens: count,
  outputTokens: count,
  cacheReadTokens: count,
  cacheWriteTokens: count,
  reasoningTokens: count,
});

/** A variable as the model sees it: never its whole value. */
const variable = z.object({
  name: z.string(),
  type: z.string(),
  /** length of the value as text */
  chars: count,
  preview: z.string(),
  description: z.string().optional(),
});
export type VariableInfo = z.output<typeof variable>;

/** `run` names the node of the tree: the root's id, and `<parent>.<n>` for a sub-agent. */
const inRun = { run: z.string().max(500) };
const inTurn = { ...inRun, turn: count };

const runStart = z.object({
  type: z.literal("run_start"),
  ...inRun,
  parent: z.string().nullable(),
  depth: count,
  signature: z.string(),
  instructions: z.string().optional(),
  model: z.string(),
  subModel: z.string(),
  /** null: no limit */
  limits: z.record(z.string(), z.number().nullable()),
  inputs: z.array(variable),
});
const turnStart = z.object({ type: z.literal("turn_start"), ...inTurn, of: count });
const lmRequest = z.object({
  type: z.literal("lm_request"),
  ...inTurn,
  /** pairs a response with its request; unique in the tree */
  call: z.string(),
  purpose: z.enum(["root", "sub", "extract"]),
  model: z.string(),
  /** SHA-256 of the whole request */
  hash: z.string(),
  /** length of the whole prompt */
  promptChars: count,
  /** what is new in the prompt: the last message. Long texts are truncated. */
  prompt: z.string(),
  maxTokens: count,
});
const lmResponse = z.object({
  type: z.literal("lm_response"),
  ...inTurn,
  call: z.string(),
  /** `refused`: it was never sent, because of the budget or a limit */
  status: z.enum(["ok", "failed", "refused"]),
  text: z.string(),
  stop: z.string().optional(),
  usage: usage.optional(),
  /** null: the model has no price */
  usd: amount.nullable(),
  cached: z.boolean(),
  ms: amount,
});
const code = z.object({ type: z.literal("code"), ...inTurn, code: z.string() });
const execResult = z.object({
  type: z.literal("exec_result"),
  ...inTurn,
  status: z.string(),
  /** as the model saw it */
  output: z.string(),
  /** length before it was truncated */
  outputChars: count,
  ms: amount,
});
const subStart = z.object({ type: z.literal("sub_start"), ...inTurn, child: z.string(), signature: z.string() });
const finish = z.enum(finishReasons);
const subEnd = z.object({ type: z.literal("sub_end"), ...inTurn, child: z.string(), finish });
const left = z.object({ calls: z.number().nullable(), tokens: z.number().nullable(), usd: z.number().nullable() });
const budget = z.object({ type: z.literal("budget"), ...inTurn, percent: count, kind: z.string(), left });
const submit = z.object({
  type: z.literal("submit"),
  ...inTurn,
  valid: z.boolean(),
  errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});
const finished = z.object({
  type: z.literal("finish"),
  ...inRun,
  finish,
  /** the limit that led to an extraction */
  limit: z.enum(limitKinds).optional(),
  turns: count,
  /** left out if they are long: then `outputsChars` says how long */
  outputs: z.record(z.string(), z.unknown()).optional(),
  outputsChars: count.optional(),
  message: z.string().optional(),
});

/** What happens in a tree of runs, in order. */
export const eventSchema = z.discriminatedUnion("type", [
  runStart,
  turnStart,
  lmRequest,
  lmResponse,
  code,
  execResult,
  subStart,
  subEnd,
  budget,
  submit,
  finished,
]);

/** An event before it has a time. */
export type RlmFact = z.output<typeof eventSchema>;
/** `at`: milliseconds since 1970. */
export type RlmEvent = RlmFact & { readonly at: number };

/** Tokens of one call, by kind. */
export type RlmUsage = z.output<typeof usage>;
