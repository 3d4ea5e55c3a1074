import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { completionsSchema, encodeCompletions } from "../../../service/wire/sessions/completions.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const maxCharacters = 256 * 1024;

export const completeRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/complete",
  id: "complete",
  summary: "Complete Python code: names, attributes, keys, files and modules",
  description: "No code of the session runs. While a run is running, the response is 409.",
  tag: "variables",
  scope: "run",
  params: sessionParams,
  body: z.strictObject({
    code: z.string().max(maxCharacters),
    cursor: z.int().min(0).optional().describe("offset in UTF-16 code units; default: the end of the code"),
  }),
  replies: { 200: { description: "what can replace a part of the code", schema: completionsSchema } },
  async handle({ params, body, tenant }) {
    const { code, cursor = code.length } = body;
    if (cursor > code.length) throw new CodecellError("usage", "`cursor` is after the end of the code");
    const session = await tenant.sessions.get(params.session);
    return { json: encodeCompletions(await session.complete(code, cursor)) };
  },
});
