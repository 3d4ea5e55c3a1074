import { z } from "zod";
import type { StreamSize } from "../output/kept-output.ts";
import { keptStreams } from "../output/kept-stream.ts";
import { markedText } from "../output/mark-imitations.ts";
import { defineTool } from "./tool.ts";

const maxLimit = 40_000;

export const readOutputTool = defineTool({
  name: "read_output",
  title: "Read the full output of a run",
  description:
    "Read output that was truncated in a result, by its handle: a page of characters, or the lines that contain a text.",
  input: z.strictObject({
    handle: z.string(),
    stream: z.enum(keptStreams as [string, ...string[]]).default("stdout"),
    offset: z.int().min(0).default(0),
    limit: z.int().min(1).max(maxLimit).default(8_000),
    search: z.string().min(1).max(1_000).optional().describe("Ignores case."),
  }),
  output: z.object({
    stream: z.string(),
    text: z.string(),
    next_offset: z.number().nullable(),
    total: z.number().describe("characters in the stream, or matching lines"),
    partial: z.boolean().describe("the middle of the output was not kept; a line in the text says where"),
    left_out_bytes: z.number().describe("bytes that were not kept, and are not searched"),
  }),
  effect: "reads",
  async call({ handle, offset, limit, search, ...rest }, sandbox) {
    const stream = keptStreams.find((one) => one === rest.stream) ?? "stdout";
    if (search === undefined) {
      const page = sandbox.kept.page(handle, { stream, offset, limit });
      const { text, nextOffset, total } = page;
      const more =
        nextOffset === undefined ? [] : [`… ${total} characters in total; continue with offset=${nextOffset} …`];
      const facts = { stream, text, next_offset: nextOffset ?? null, total, ...missing(page) };
      return { facts, text: [...markedText(text), ...more, ...missingText(stream, page)].join("\n") };
    }
    const found = sandbox.kept.search(handle, { pattern: search, ignoreCase: true, stream, maxMatches: 100 });
    const text = found.matches.map(({ line, text: shown }) => `${line + 1}: ${shown}`).join("\n");
    const count = found.total > found.matches.length ? [`… ${found.total} lines match; these are the first …`] : [];
    const lines = found.total === 0 ? ["no line matches"] : [text];
    const facts = { stream, text, next_offset: null, total: found.total, ...missing(found) };
    return { facts, text: [...lines, ...count, ...missingText(stream, found)].join("\n") };
  },
});

function missing({ isPartial, leftOutBytes }: StreamSize): { partial: boolean; left_out_bytes: number } {
  return { partial: isPartial, left_out_bytes: leftOutBytes };
}

function missingText(stream: string, { leftOutBytes, writtenBytes = 0 }: StreamSize): string[] {
  if (leftOutBytes === 0) return [];
  const [written, leftOut] = [writtenBytes, leftOutBytes].map((count) => count.toLocaleString("en-US"));
  return [`[${stream} had ${written} bytes; ${leftOut} in the middle were not kept, and are not searched]`];
}
