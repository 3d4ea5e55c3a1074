import { z } from "zod";
import { defineTool } from "./tool.ts";

export const forkSessionTool = defineTool({
  name: "fork_session",
  title: "Copy a session",
  description:
    "Start a second session from this one's variables, without copying data, to try two things at once. The two share files, memory limit and processors; their variables go separate ways from here.",
  input: z.strictObject({ session_id: z.string() }),
  output: z.object({ session_id: z.string().describe("the new session"), forked_from: z.string() }),
  effect: "changes",
  async call({ session_id }, sandbox) {
    const fork = await (await sandbox.sessions()).fork(session_id);
    return { facts: { session_id: fork.id, forked_from: session_id } };
  },
});
