import { z } from "zod";
import type { Session } from "../../../sessions/session.ts";

type Variable = Awaited<ReturnType<Session["variables"]>>[number];

export const variableSchema = z.strictObject({
  name: z.string(),
  type: z.string(),
  size: z.int().nullable().describe("bytes, without objects that the value refers to; null: unknown"),
  summary: z.string().describe("the beginning of its repr"),
});
/** A variable in the wire format. */
export type WireVariable = z.output<typeof variableSchema>;

/** A variable of a session. */
export function encodeVariable({ name, type, size, summary }: Variable): WireVariable {
  return { name, type, size: size ?? null, summary };
}
