import { parseJson } from "../../lib/json/parse-json.ts";
import { type CheckedOutputs, checkOutputs } from "../signature/check-outputs.ts";
import { outputSchema } from "../signature/json-schema.ts";
import type { Signature } from "../signature/signature.ts";
import { fieldLine } from "./system-prompt.ts";

/** How a model is asked for outputs without code. */
export function jsonRequestText(signature: Signature): string {
  return [
    "Reply with one JSON object between ```json and ```, with these keys:",
    signature.outputs.map(fieldLine).join("\n"),
    `It must match this JSON Schema: ${JSON.stringify(outputSchema(signature))}`,
  ].join("\n\n");
}

/** Reads outputs from a reply: the first fenced block, or the text from the first brace to the last. */
export function outputsInReply(signature: Signature, reply: string): CheckedOutputs {
  const fenced = fencedText(reply);
  const braces = reply.slice(reply.indexOf("{"), reply.lastIndexOf("}") + 1);
  for (const text of [fenced, braces]) {
    const value = text === undefined ? undefined : jsonIn(text);
    if (value !== undefined) return checkOutputs(signature, value);
  }
  return { ok: false, errors: [{ path: "", message: "the reply has no JSON object" }] };
}

/**
 * The text of the first fenced block. In two steps: one pattern would look for the end of a block from each beginning, and take
 * quadratic time for a reply that only begins blocks.
 */
function fencedText(reply: string): string | undefined {
  const opening = /```[ \t]*(?:json[ \t]*)?\r?\n/i.exec(reply);
  if (!opening) return undefined;
  const text = reply.slice(opening.index + opening[0].length);
  const end = text.search(/\r?\n[ \t]*```/);
  return end < 0 ? undefined : text.slice(0, end);
}

function jsonIn(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
