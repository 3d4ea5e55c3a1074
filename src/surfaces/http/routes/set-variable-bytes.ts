import { z } from "zod";
import { sessionId, variableName } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const setVariableBytesRoute = defineRoute({
  method: "PUT",
  path: "/v1/sessions/{session}/variables/{name}/bytes",
  id: "setVariableBytes",
  summary: "Set a variable to bytes",
  description: "The body is the value. Its limit is that of a JSON body; upload a larger one as a file.",
  tag: "variables",
  scope: "run",
  params: z.strictObject({ session: sessionId, name: variableName }),
  takesBytes: "whole",
  replies: { 204: { description: "it is set" } },
  async handle({ params, bytes, tenant }) {
    await (await tenant.sessions.get(params.session)).set(params.name, bytes);
    return { status: 204 };
  },
});
