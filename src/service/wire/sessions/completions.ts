import { z } from "zod";
import type { Completions } from "../../../sessions/interpreter/completions.ts";

/** The cell may offer any number; more than this helps nobody. */
const maxMatches = 1_000;

export const completionsSchema = z.strictObject({
  matches: z.array(
    z.strictObject({
      text: z.string(),
      kind: z.enum(["value", "function", "class", "module", "property", "keyword", "key", "file"]),
    }),
  ),
  start: z.int().describe("offset of the code that a match replaces, in UTF-16 code units"),
  end: z.int().describe("offset after it: the cursor"),
  truncated: z.boolean().describe("whether there may be more matches"),
});
export type WireCompletions = z.output<typeof completionsSchema>;

export function encodeCompletions({ matches, start, end, truncated }: Completions): WireCompletions {
  const shown = matches.slice(0, maxMatches).map(({ text, kind }) => ({ text, kind }));
  return { matches: shown, start, end, truncated: truncated || matches.length > maxMatches };
}
