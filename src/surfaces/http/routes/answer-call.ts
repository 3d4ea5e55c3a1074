import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { remoteFunctionsOf } from "../../../service/functions/remote-functions.ts";
import { sessionId } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const answerCallRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/calls/{call}",
  id: "answerCall",
  summary: "Answer a call of a program",
  tag: "functions",
  scope: "run",
  params: z.strictObject({ session: sessionId, call: z.coerce.number().int().min(0) }),
  body: z.strictObject({
    value: z.unknown().optional().describe("the result, any JSON"),
    error: z
      .strictObject({
        type: z.string().max(100).default("HostError").describe("name of the exception, such as ValueError"),
        message: z.string().max(4000),
      })
      .optional()
      .describe("why the function failed; the program sees it as an exception"),
  }),
  replies: { 204: { description: "the program has its answer" } },
  async handle({ params, body, tenant }) {
    if (body.error !== undefined && body.value !== undefined) {
      throw new CodecellError("usage", "an answer has a `value` or an `error`, not both");
    }
    const session = await tenant.sessions.get(params.session);
    const { error, value = null } = body;
    remoteFunctionsOf(session).answer(params.call, error ? { ok: false, ...error } : { ok: true, value });
    return { status: 204 };
  },
});
