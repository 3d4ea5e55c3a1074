import { z } from "zod";
import { jsonAround } from "../answers/json-around.ts";
import { reserveParts } from "../answers/send-body.ts";
import { sessionId, variableName } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const maxBytes = 16 * 1024 * 1024;

export const getVariableRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/variables/{name}",
  id: "getVariable",
  summary: "Get the value of a variable",
  description: `As JSON, at most ${maxBytes} bytes. Run code for a part of a larger value, or for a value that JSON cannot represent.`,
  tag: "variables",
  scope: "read",
  params: z.strictObject({ session: sessionId, name: variableName }),
  replies: {
    200: {
      description: "the value",
      schema: z.strictObject({ name: z.string(), value: z.unknown().describe("as JSON") }),
    },
  },
  async handle({ params, tenant, memory }) {
    const session = await tenant.sessions.get(params.session);
    const value = await session.getJson(params.name, { maxBytes, onBytes: reserveParts(memory) });
    return jsonAround({ name: params.name }, value);
  },
});
