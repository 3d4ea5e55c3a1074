import { CodecellError } from "../../../lib/errors.ts";
import { encodeSnapshot, snapshotSchema } from "../../../service/wire/snapshot.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const saveSessionRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/save",
  id: "saveSession",
  summary: "Write the variables to disk now",
  description:
    "Sessions that are kept do so by themselves when they are idle. This says what is saved, and what cannot be.",
  tag: "sessions",
  scope: "run",
  params: sessionParams,
  replies: { 200: { description: "the save", schema: snapshotSchema } },
  async handle({ params, tenant }) {
    const session = await tenant.sessions.get(params.session);
    if (!session.policy.session.persist) {
      // Nobody would ever find it again, and it would count against nobody's quota.
      throw new CodecellError("not_supported", "this service does not keep sessions", {
        hint: "session.persist in its policy decides",
      });
    }
    return { json: encodeSnapshot(params.session, await session.save()) };
  },
});
