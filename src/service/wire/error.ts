import { z } from "zod";

export const errorFieldsSchema = z.strictObject({
  code: z.string().describe("to branch on; docs/errors.md lists them all"),
  message: z.string().describe("what failed, and why"),
  hint: z.string().nullable().describe("how to fix it"),
  details: z
    .record(z.string(), z.unknown())
    .optional()
    .describe("data for programs, such as the path of the rule; only on the command line"),
});

export const errorSchema = z.strictObject({
  error: errorFieldsSchema.describe("why codecell failed; a program that fails is a run, not an error"),
});
/** An error in the wire format. */
export type WireError = z.output<typeof errorSchema>;

/** What the encoder needs of a failure; a `CodecellError` is one. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The body of a failed call. */
export function encodeError({ code, message, hint, details = {} }: Failure): WireError {
  const more = Object.keys(details).length === 0 ? {} : { details: { ...details } };
  return { error: { code, message, hint: hint ?? null, ...more } };
}
