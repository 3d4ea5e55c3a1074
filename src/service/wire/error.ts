import { z } from "zod";

export const errorFieldsSchema = z.strictObject({
  code: z.string().describe("to branch on; docs/errors.md lists them all"),
  message: z.string().describe("what failed, and why"),
  hint: z.string().nullable().describe("what to do about it on this surface"),
  details: z
    .record(z.string(), z.unknown())
    .optional()
    .describe("facts for programs, such as the rule's path; only the command line tells them"),
});

export const errorSchema = z.strictObject({
  error: errorFieldsSchema.describe("codecell could not do what it was asked; a failing program is a run and not this"),
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

/** What a failed call answers. */
export function encodeError({ code, message, hint, details = {} }: Failure): WireError {
  const more = Object.keys(details).length === 0 ? {} : { details: { ...details } };
  return { error: { code, message, hint: hint ?? null, ...more } };
}
