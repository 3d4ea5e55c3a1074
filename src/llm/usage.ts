import type { LmRequest, LmUsage } from "./client.ts";

export const noUsage: LmUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
};

export function addUsage(a: LmUsage, b: LmUsage): LmUsage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  };
}

/** All tokens of the prompt, cached or not. */
export function promptTokens({ inputTokens, cacheReadTokens, cacheWriteTokens }: LmUsage): number {
  return inputTokens + cacheReadTokens + cacheWriteTokens;
}

/** All tokens. Reasoning is a part of the output and is not counted twice. */
export function totalTokens(usage: LmUsage): number {
  return promptTokens(usage) + usage.outputTokens;
}

/** Tokens that a provider adds to a prompt, at most: once per request, and per message for its role and separators. */
const overhead = { request: 512, message: 16 } as const;

/**
 * More tokens than the prompt can have. A tokenizer makes at most one token of a byte. Some normalize the text first, and then
 * one character of three bytes can become 33: the attack is a prompt that costs ten times what was held for it.
 */
export function inputUpperBound({ system, messages }: Pick<LmRequest, "system" | "messages">): number {
  const texts = [...(system === undefined ? [] : [system]), ...messages.map(({ text }) => text)];
  return texts.reduce<number>((sum, text) => sum + mostBytes(text) + overhead.message, overhead.request);
}

/** Characters of the prompt: what limits on prompts count. */
export function promptCharacters({ system = "", messages }: Pick<LmRequest, "system" | "messages">): number {
  return messages.reduce((sum, { text }) => sum + text.length, system.length);
}

/** More tokens than a text can have. */
export function mostBytes(text: string): number {
  const bytes = Buffer.byteLength(text);
  const isAscii = bytes === text.length;
  return isAscii ? bytes : Math.max(bytes, Buffer.byteLength(text.normalize("NFKC")));
}
