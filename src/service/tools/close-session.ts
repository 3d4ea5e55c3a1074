import { z } from "zod";
import { defineTool } from "./tool.ts";

export const closeSessionTool = defineTool({
  name: "close_session",
  title: "Close a session",
  description:
    "Close a session and stop its run. Variables and files are lost, unless the policy makes sessions persistent: then they are saved, and a call with the same session_id restores them. forget=true deletes them for good.",
  input: z.strictObject({ session_id: z.string(), forget: z.boolean().default(false) }),
  output: z.object({ session_id: z.string(), closed: z.boolean(), kept: z.boolean() }),
  effect: "destroys",
  isIdempotent: true,
  async call({ session_id, forget }, sandbox) {
    const sessions = await sandbox.sessions();
    await sessions.closeSession(session_id, { forget });
    sandbox.artifactsChanged();
    return { facts: { session_id, closed: true, kept: sessions.policy.session.persist && !forget } };
  },
});
