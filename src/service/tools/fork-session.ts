import { z } from "zod";
import { defineTool } from "./tool.ts";

export const forkSessionTool = defineTool({
  name: "fork_session",
  title: "Copy a session",
  description:
    "Start a second session with a copy of this one's variables, to try two things at once. It is fast: no data is copied. Both share files, memory limit and CPUs; changes to variables in one are not seen in the other.",
  input: z.strictObject({ session_id: z.string() }),
  output: z.object({ session_id: z.string().describe("the new session"), forked_from: z.string() }),
  effect: "changes",
  async call({ session_id }, sandbox) {
    const fork = await (await sandbox.sessions()).fork(session_id);
    return { facts: { session_id: fork.id, forked_from: session_id } };
  },
});
