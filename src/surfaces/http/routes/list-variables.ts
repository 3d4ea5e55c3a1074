import { z } from "zod";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const maxVariables = 1_000;

const variablesSchema = z.object({
  variables: z.array(
    z.object({ name: z.string(), type: z.string(), size: z.number().nullable(), summary: z.string() }),
  ),
  total: z.number(),
});

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
    const variables = all.slice(0, maxVariables).map(({ name, type, size, summary }) => ({
      ...{ name, type, size: size ?? null, summary },
    }));
    return { json: { variables, total: all.length } };
  },
});
