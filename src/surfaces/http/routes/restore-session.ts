import { z } from "zod";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";
import { missingSchema } from "../session-view.ts";

const restoreSchema = z.object({
  from_run: z.number().nullable().describe("the save after this run; null: nothing was saved"),
  variables: z.array(z.string()).describe("restored variables"),
  failed: z.array(missingSchema).describe("saved, but not restored"),
  skipped: z.array(missingSchema).describe("never saved"),
  problem: z.object({ code: z.string(), message: z.string() }).nullable().describe("why nothing was restored"),
});

export const restoreSessionRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/restore",
  id: "restoreSession",
  summary: "Start a saved session again, and report what was restored",
  description: "Any other call restores it too and reports this in the notes of the next result.",
  tag: "sessions",
  scope: "run",
  params: sessionParams,
  replies: { 200: { description: "what was restored", schema: restoreSchema } },
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
