import { createHash } from "node:crypto";
import type { LmRequest } from "./client.ts";

/** Parts of a request that decide its answer, with hashes and lengths for texts. Small, and without anything secret of a prompt. */
export interface RequestParts {
  readonly model: string;
  readonly maxTokens: number;
  readonly temperature: number | null;
  readonly stop: readonly string[];
  readonly system: TextPart | null;
  readonly messages: readonly (TextPart & { readonly role: "user" | "assistant" })[];
}

export interface TextPart {
  readonly sha256: string;
  readonly characters: number;
}

/** `cachePrefix` is left out: it changes the price of an answer, and not the answer. */
export function requestParts(request: LmRequest): RequestParts {
  const { model, maxTokens, temperature = null, stop = [], system, messages } = request;
  return {
    ...{ model, maxTokens, temperature, stop },
    system: system === undefined ? null : textPart(system),
    messages: messages.map(({ role, text }) => ({ role, ...textPart(text) })),
  };
}

/** A hash that is equal for equal models, parameters and messages, and for nothing else; and what it is made of. */
export interface RequestIdentity {
  readonly hash: string;
  readonly parts: RequestParts;
}

/** Takes milliseconds for a large prompt: make it once per call. */
export function requestIdentity(request: LmRequest): RequestIdentity {
  const parts = requestParts(request);
  return { hash: hashOf(parts), parts };
}

export function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

/** JSON keeps halves of surrogate pairs apart, which UTF-8 does not: two texts would have one hash. */
function textPart(text: string): TextPart {
  return { sha256: hashOf(text), characters: text.length };
}

/** How two requests differ, in words; the first differences only. */
export function difference(now: RequestParts, then: RequestParts): string {
  const found: string[] = [];
  const compare = (what: string, a: unknown, b: unknown) => {
    if (JSON.stringify(a) !== JSON.stringify(b))
      found.push(`${what} is ${JSON.stringify(a)}, not ${JSON.stringify(b)}`);
  };
  compare("the model", now.model, then.model);
  compare("maxTokens", now.maxTokens, then.maxTokens);
  compare("the temperature", now.temperature, then.temperature);
  compare("stop", now.stop, then.stop);
  compareText("the system prompt", now.system, then.system, found);
  const count = Math.max(now.messages.length, then.messages.length);
  if (now.messages.length !== then.messages.length)
    found.push(`it has ${now.messages.length} messages, not ${then.messages.length}`);
  for (let index = 0; index < count; index++) {
    const [a, b] = [now.messages[index], then.messages[index]];
    if (a && b) compareText(`message ${index + 1}`, a, b, found);
    if (a && b && a.role !== b.role) found.push(`message ${index + 1} is the ${a.role}'s, not the ${b.role}'s`);
  }
  return found.slice(0, 3).join("; ");
}

function compareText(what: string, a: TextPart | null, b: TextPart | null, found: string[]): void {
  if (a?.sha256 === b?.sha256) return;
  const size = (part: TextPart | null) => (part ? `${part.characters} characters` : "missing");
  found.push(`${what} differs (${size(a)} now, ${size(b)} then)`);
}
