import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";
import { missingSchema } from "../session-view.ts";

const saveSchema = z.object({
  after_run: z.number(),
  saved: z.string(),
  bytes: z.number(),
  variables: z.array(z.string()),
  skipped: z.array(missingSchema).describe("what cannot be saved"),
});

export const saveSessionRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/save",
  id: "saveSession",
  summary: "Write the variables to disk now",
  description:
    "Persistent sessions are saved automatically when they are idle. This call reports what was saved and what cannot be.",
  tag: "sessions",
  scope: "run",
  params: sessionParams,
  replies: { 200: { description: "the save", schema: saveSchema } },
  async handle({ params, tenant }) {
    const session = await tenant.sessions.get(params.session);
    if (!session.policy.session.persist) {
      // Nobody would find it again, and it would count against no quota.
      throw new CodecellError("not_supported", "sessions of this service are not persistent", {
        hint: "set `session.persist` in its policy",
      });
    }
    const { run, savedMs, bytes, saved, skipped } = await session.save();
    const json = { after_run: run, saved: new Date(savedMs).toISOString(), bytes, variables: saved, skipped };
    return { json };
  },
});
