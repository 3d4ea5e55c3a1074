import { z } from "zod";
import { languageNames } from "../../../policy/languages.ts";
import { imageProtocols } from "../plots/image-protocol.ts";

const output = z.strictObject({ isTTY: z.boolean(), columns: z.int().positive().nullable() });

/** What a caller asks a holder for. The caller's environment, directory and keys are not part of it. */
export const warmRequest = z.discriminatedUnion("ask", [
  z.strictObject({ ask: z.literal("facts") }),
  z.strictObject({ ask: z.literal("stop") }),
  z.strictObject({
    ask: z.literal("run"),
    code: z.string(),
    from: z.enum(["file", "stdin", "argument"]),
    language: z.enum(languageNames),
    file: z.string().optional(),
    /** the directory of the file, to look for what the program misses */
    beside: z.strictObject({ path: z.string().startsWith("/"), shown: z.string() }).optional(),
    args: z.array(z.string()).optional(),
    hasStdin: z.boolean(),
    json: z.boolean(),
    receipt: z.boolean(),
    hasColor: z.boolean(),
    /** the caller's directories: both are of the same user */
    plots: z.strictObject({
      named: z.strictObject({ path: z.string().startsWith("/"), shown: z.string() }).optional(),
      stateDir: z.string().startsWith("/"),
      images: z.enum([...imageProtocols, "none"]),
    }),
    stdout: output,
    stderr: output,
  }),
]);

export type WarmRequest = z.output<typeof warmRequest>;
export type RunRequest = Extract<WarmRequest, { ask: "run" }>;
