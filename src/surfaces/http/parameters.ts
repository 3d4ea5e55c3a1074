import { z } from "zod";
import { variableNameProblem } from "../../sessions/interpreter/variable-name.ts";
import { maxNamespacedId } from "../../sessions/session-id.ts";

/** Parameters of several routes. */
export const sessionId = z
  .string()
  .min(1)
  .max(maxNamespacedId)
  .describe("letters, digits, dots, dashes and underscores; starts with a letter or digit");
export const sessionParams = z.strictObject({ session: sessionId });
export const runParams = z.strictObject({ session: sessionId, run: z.string().max(64) });
export const fileParams = z.strictObject({
  session: sessionId,
  path: z.string().describe("path in the workspace, with its slashes"),
});
export const checkpointName = z.string().min(1).max(128);

const maxWaitSeconds = 60;
export const flagQuery = z.enum(["true", "false"]).default("false");
export const receiptQuery = flagQuery.describe("true: the result contains the receipt");
export const offsetQuery = z.coerce
  .number()
  .int()
  .min(0)
  .optional()
  .describe("the first event to send; with a number after the last one, only the result is sent");
/** in a query, where everything is text */
export const waitQuery = z.strictObject({
  receipt: receiptQuery,
  wait: z.coerce.number().min(0).max(maxWaitSeconds).default(0).describe("seconds to wait for the end of the run"),
});
export const waitBody = z
  .number()
  .min(0)
  .max(maxWaitSeconds)
  .default(30)
  .describe("seconds to wait for the end of the run; after that the response is 202 with its run_id");
export const pageLimit = z.coerce.number().int().min(1).max(1000).default(200);

/** A plain name. The attack: a token with only the scope `read` runs code by an expression. */
export const variableName = z
  .string()
  .max(200)
  .regex(/^[\p{XID_Start}_][\p{XID_Continue}]*$/u, "expected the name of a Python variable")
  .superRefine((name, context) => {
    const message = variableNameProblem(name);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  });
