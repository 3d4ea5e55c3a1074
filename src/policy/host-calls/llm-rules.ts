import { z } from "zod";
import { once } from "../../lib/once.ts";
import { duration } from "../units.ts";
import { modelGlob } from "./model-glob.ts";

/** Written for a budget without a limit, where the prices of the models are not known. */
export const unlimited = "unlimited";
/** US dollars, or no limit. */
export type UsdLimit = number | typeof unlimited;

const expectedUsd = "expected US dollars from 0 to 100000, or unlimited";
const longestMs = 24 * 3_600_000;
const whole = (least: number, most: number) =>
  z.int("expected a whole number").min(least, `at least ${least}`).max(most, `at most ${most}`);

/** The schemas of the section `llm`, in a policy and in an override. */
export const llmSchemas = once(() => {
  /** The rules of the section `llm`, without defaults. */
  const rules = {
    models: z
      .array(modelGlob())
      .max(64, "at most 64 models")
      .describe("Models that code in the cell may call through the host: names or globs. Empty: none."),
    calls: whole(1, 100_000).describe(
      "Model calls below one sub-agent: by its code, and by the sub-agents that it starts.",
    ),
    tokens: whole(1, 1_000_000_000).describe("Tokens of all calls together: input, output and cache."),
    usd: z
      .union([z.number().min(0, expectedUsd).max(100_000, expectedUsd), z.literal(unlimited)], { error: expectedUsd })
      .describe("US dollars for all calls together. Models without a known price need `unlimited`."),
    depth: whole(0, 3).describe("How deep sub-agents may start sub-agents; 0: none, only plain model calls."),
    concurrency: whole(1, 64).describe("Model calls at the same time; further ones wait."),
    promptChars: whole(1, 10_000_000).describe("Characters in the prompt of one call."),
    callTimeout: duration()
      .refine((ms) => ms <= longestMs, "at most 24h")
      .describe("Wall-clock limit of one model call, with its retries."),
    timeout: duration()
      .refine((ms) => ms <= longestMs, "at most 24h")
      .describe("Wall-clock limit of one sub-agent, with everything below it."),
  } as const;

  /** The section as a policy has it. */
  const section = z
    .strictObject({
      models: rules.models.default([]),
      calls: rules.calls.default(50),
      tokens: rules.tokens.default(2_000_000),
      usd: rules.usd.default(1),
      depth: rules.depth.default(1),
      concurrency: rules.concurrency.default(8),
      promptChars: rules.promptChars.default(400_000),
      callTimeout: rules.callTimeout.prefault("2m"),
      timeout: rules.timeout.prefault("10m"),
    })
    .transform(({ callTimeout, timeout, ...rest }) => ({ ...rest, callTimeoutMs: callTimeout, timeoutMs: timeout }));

  /** The section as an override has it. */
  const patch = z
    .strictObject(rules)
    .partial()
    .transform(({ callTimeout, timeout, ...rest }) => ({ ...rest, callTimeoutMs: callTimeout, timeoutMs: timeout }));
  return { section, patch };
});
