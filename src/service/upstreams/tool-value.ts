import { isRecord } from "../../lib/is-record.ts";
import { JsonRefused, parseJson } from "../../lib/json/parse-json.ts";
import { formatSize } from "../../policy/format-units.ts";
import { ToolCallError } from "./tool-call-error.ts";
import type { UpstreamAnswer } from "./upstream-client.ts";

const maxErrorCharacters = 4_000;

/**
 * The value that a program gets: structured content if there is any, else the text, and the value in it if the text is a JSON
 * object or list. Images and other content are dicts in a list. Throws if the tool failed, or if the value is too large.
 */
export function toolValue(answer: UpstreamAnswer, maxBytes: number): { value: unknown; bytes: number } {
  const blocks = answer.content.filter(isRecord);
  if (answer.isError) throw new ToolCallError("error", cut(textOf(blocks) || "the tool failed without a reason"));
  const value = isRecord(answer.structuredContent) ? answer.structuredContent : contentValue(blocks);
  const bytes = Buffer.byteLength(JSON.stringify(value) ?? "null");
  if (bytes > maxBytes) {
    const message = `the result has ${formatSize(bytes)}, and tools.result permits ${formatSize(maxBytes)}`;
    throw new ToolCallError("refused", `${message}: ask the tool for less`);
  }
  return { value, bytes };
}

type Block = Readonly<Record<string, unknown>>;

function contentValue(blocks: readonly Block[]): unknown {
  if (blocks.length === 0) return null;
  if (blocks.some(({ type }) => type !== "text")) return blocks.map(plainBlock);
  const text = textOf(blocks);
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof JsonRefused) return text;
    throw error;
  }
}

/** The fields that the protocol has for a kind of content, and no others. */
function plainBlock(block: Block): Block {
  const { type, text, data, mimeType, uri, name, resource } = block;
  if (type === "text") return { type, text };
  if (type === "image" || type === "audio") return { type, mimeType, data };
  if (type === "resource_link") return { type, uri, name, mimeType };
  if (type === "resource" && isRecord(resource)) return { ...resource, type };
  return { type: String(type) };
}

function textOf(blocks: readonly Block[]): string {
  return blocks.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : [])).join("\n");
}

function cut(text: string): string {
  return text.length <= maxErrorCharacters ? text : `${text.slice(0, maxErrorCharacters)} … (truncated)`;
}
