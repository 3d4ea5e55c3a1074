import { z } from "zod";
import { encodeVariable, variableSchema } from "../../../service/wire/sessions/variable.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const maxVariables = 1_000;

const variablesSchema = z.strictObject({ variables: z.array(variableSchema), total: z.int() });

export const listVariablesRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/variables",
  id: "listVariables",
  summary: "List the variables of a session",
  tag: "variables",
  scope: "read",
  params: sessionParams,
  replies: { 200: { description: `at most ${maxVariables} of them`, schema: variablesSchema } },
  async handle({ params, tenant }) {
    const all = await (await tenant.sessions.get(params.session)).variables();
    return { json: { variables: all.slice(0, maxVariables).map(encodeVariable), total: all.length } };
  },
});
