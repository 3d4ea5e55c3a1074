import { z } from "zod";
import { remoteFunctionsOf } from "../../../service/functions/remote-functions.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const maxWaitSeconds = 60;

export const listCallsRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/calls",
  id: "listCalls",
  summary: "Fetch the calls that programs are waiting for",
  description: "Returns each call once. Waits up to `wait` seconds for the first one. The list may be empty.",
  tag: "functions",
  scope: "run",
  params: sessionParams,
  query: z.strictObject({
    wait: z.coerce.number().min(0).max(maxWaitSeconds).default(0).describe("seconds to wait for a call"),
    after: z.coerce
      .number()
      .int()
      .min(0)
      .optional()
      .describe("calls with a higher number, even if they were fetched before: for a client whose reply was lost"),
  }),
  replies: {
    200: {
      description: "calls to answer",
      schema: z.strictObject({
        calls: z.array(
          z.strictObject({
            call: z.int().describe("number of the call, for POST …/calls/{call}"),
            run: z.int().describe("number of the run in its session"),
            name: z.string(),
            arguments: z.unknown().describe("an object; it comes from the cell, so do not trust it"),
          }),
        ),
      }),
    },
  },
  async handle({ params, query, tenant, signal }) {
    const session = await tenant.sessions.get(params.session);
    const calls = await remoteFunctionsOf(session).next({
      ...{ waitMs: query.wait * 1000, signal },
      ...(query.after === undefined ? {} : { after: query.after }),
    });
    return { status: 200, json: { calls } };
  },
});
