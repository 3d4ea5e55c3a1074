import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { sessionId, variableName } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const setVariableRoute = defineRoute({
  method: "PUT",
  path: "/v1/sessions/{session}/variables/{name}",
  id: "setVariable",
  summary: "Set a variable",
  tag: "variables",
  scope: "run",
  params: z.strictObject({ session: sessionId, name: variableName }),
  body: z.strictObject({ value: z.unknown().describe("any JSON") }),
  replies: { 204: { description: "it is set" } },
  async handle({ params, body, tenant }) {
    if (body.value === undefined) throw new CodecellError("usage", "the body has no value");
    await (await tenant.sessions.get(params.session)).set(params.name, body.value);
    return { status: 204 };
  },
});
