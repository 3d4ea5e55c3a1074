import { z } from "zod";
import { CodecellError, type CodecellErrorCode } from "../../lib/errors.ts";
import type { Amount } from "../budget/amounts.ts";
import type { LmResponse } from "../client.ts";
import type { RequestParts } from "../request-hash.ts";

const count = z.number().nonnegative();
const amount = z.object({ calls: count, tokens: count, usd: count });
const usage = z.object({
  ...{
    inputTokens: count,
    outputTokens: count,
    cacheReadTokens: count,
    cacheWriteTokens: count,
    reasoningTokens: count,
  },
});

/** An answer as tapes and caches store it. */
export const storedResponse = z.object({
  text: z.string(),
  stop: z.enum(["end", "max_tokens", "refusal", "other"]),
  usage,
  isUsageEstimated: z.boolean().optional(),
  requestId: z.string().optional(),
});

const text = z.object({ sha256: z.string(), characters: count });
const parts = z.object({
  ...{ model: z.string(), maxTokens: count, temperature: z.number().nullable(), stop: z.array(z.string()) },
  system: text.nullable(),
  messages: z.array(text.extend({ role: z.enum(["user", "assistant"]) })),
});

/** A call is about to be sent. Without a `done` line, nobody knows what it cost: it counts as its worst case. */
const sentLine = z.object({ v: z.literal(1), type: z.literal("sent"), call: count, hash: z.string(), held: amount });
/** A call has ended. */
const doneLine = z.object({
  ...{ v: z.literal(1), type: z.literal("done"), call: count, hash: z.string() },
  ...{ purpose: z.string(), parent: z.string(), request: parts },
  response: storedResponse.optional(),
  error: z.object({ code: z.string(), message: z.string(), hint: z.string().optional() }).optional(),
  charged: amount,
  isCached: z.boolean().optional(),
});
/** The run was resumed here: what was sent before and has no answer is lost, and these calls failed and are made again. */
const resumedLine = z.object({ v: z.literal(1), type: z.literal("resumed"), dropped: z.array(count) });

export const tapeLine = z.discriminatedUnion("type", [sentLine, doneLine, resumedLine]);
export type TapeLine = z.output<typeof tapeLine>;
export type SentLine = z.output<typeof sentLine>;
export type DoneLine = z.output<typeof doneLine>;

/** What a tape keeps of one call. */
export interface TapedCall {
  readonly hash: string;
  readonly purpose: string;
  readonly parent: string;
  readonly request: RequestParts;
  readonly outcome: { readonly response: LmResponse } | { readonly error: CodecellError };
  readonly charged: Amount;
  readonly isCached: boolean;
}

export function doneLineOf(call: number, taped: TapedCall): DoneLine {
  const { hash, purpose, parent, request, outcome, charged, isCached } = taped;
  const result =
    "response" in outcome
      ? { response: outcome.response }
      : {
          error: {
            code: outcome.error.code,
            message: outcome.error.message,
            ...(outcome.error.hint !== undefined && { hint: outcome.error.hint }),
          },
        };
  return {
    ...{ v: 1, type: "done", call, hash, purpose, parent },
    request: { ...request, stop: [...request.stop], messages: [...request.messages] },
    ...result,
    charged,
    ...(isCached && { isCached }),
  };
}

/** The error that a recorded call failed with. */
export function tapedError({ code, message, hint }: NonNullable<DoneLine["error"]>): CodecellError {
  return new CodecellError(code as CodecellErrorCode, message, {
    ...(hint !== undefined && { hint }),
    details: { isReplayed: true },
  });
}

export function tapedResponse(stored: z.output<typeof storedResponse>): LmResponse {
  const { isUsageEstimated, requestId, ...rest } = stored;
  return { ...rest, ...(isUsageEstimated && { isUsageEstimated }), ...(requestId !== undefined && { requestId }) };
}
