import { z } from "zod";
import { sessionId } from "../parameters.ts";
import { defineRoute } from "../route.ts";
import { variableName } from "../variable-name.ts";

const maxBytes = 16 * 1024 * 1024;

export const getVariableRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/variables/{name}",
  id: "getVariable",
  summary: "The value of a variable",
  description: `As JSON, at most ${maxBytes} bytes of it. For a part of a larger one, or for what JSON cannot hold, run code.`,
  tag: "variables",
  scope: "read",
  params: z.strictObject({ session: sessionId, name: variableName }),
  replies: {
    200: {
      description: "the value",
      schema: z.strictObject({ name: z.string(), value: z.unknown().describe("as JSON") }),
    },
  },
  async handle({ params, tenant }) {
    const session = await tenant.sessions.get(params.session);
    return { json: { name: params.name, value: await session.get(params.name, { maxBytes }) } };
  },
});
