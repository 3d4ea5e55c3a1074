import { z } from "zod";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";
import { missingSchema } from "../session-view.ts";

const restoreSchema = z.object({
  from_run: z.number().nullable().describe("the save after this run; null: nothing was saved"),
  variables: z.array(z.string()).describe("those that came back"),
  failed: z.array(missingSchema).describe("saved, and yet not back"),
  skipped: z.array(missingSchema).describe("never saved"),
  problem: z.object({ code: z.string(), message: z.string() }).nullable().describe("why nothing came back at all"),
});

export const restoreSessionRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/restore",
  id: "restoreSession",
  summary: "Bring a saved session back into a cell, and tell what came back",
  description: "Any other call brings it back too, and the next result's notes tell the same. This asks for it alone.",
  tag: "sessions",
  scope: "run",
  params: sessionParams,
  replies: { 200: { description: "what came back", schema: restoreSchema } },
  async handle({ params, tenant }) {
    const session = await tenant.sessions.get(params.session);
    await session.wake();
    const report = session.restored;
    if (!report) return { json: { from_run: null, variables: [], failed: [], skipped: [], problem: null } };
    const { snapshot, failed, problem } = report;
    const missing = new Set(failed.map(({ name }) => name));
    const variables = problem ? [] : snapshot.saved.filter((name) => !missing.has(name));
    return {
      json: {
        ...{ from_run: snapshot.run, variables, failed, skipped: snapshot.skipped },
        problem: problem ? { code: problem.code, message: problem.message } : null,
      },
    };
  },
});
