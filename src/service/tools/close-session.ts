import { z } from "zod";
import { sessionArgument } from "./session-argument.ts";
import { defineTool } from "./tool.ts";

export const closeSessionTool = defineTool({
  name: "close_session",
  title: "Close a session",
  description:
    "Stop a session's run and close it. Its variables and files are lost, unless the policy saves sessions: then the same session_id brings them back, and forget=true deletes them.",
  input: z.strictObject({ session_id: sessionArgument, forget: z.boolean().default(false) }),
  output: z.object({ session_id: z.string(), closed: z.boolean(), kept: z.boolean() }),
  effect: "destroys",
  isIdempotent: true,
  // Without session_id, this tool would close the shared session.
  nextSteps: {
    session_unknown: "there is nothing to close; if you meant another session, check the id",
    session_closed: "there is nothing to close",
    session_culled: "there is nothing to close",
  },
  async call({ session_id, forget }, sandbox) {
    const sessions = await sandbox.sessions();
    const id = session_id ?? (await sandbox.session()).id;
    await sessions.closeSession(id, { forget });
    sandbox.artifactsChanged();
    const kept = sessions.policy.session.persist && !forget;
    const text = kept ? "closed; its variables and files are saved" : "closed; its variables and files are gone";
    return { facts: { session_id: id, closed: true, kept }, text };
  },
});
