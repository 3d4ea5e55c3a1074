import { z } from "zod";
import { defineTool } from "./tool.ts";

export const checkpointTool = defineTool({
  name: "checkpoint",
  title: "Save a checkpoint",
  description:
    "Save a copy of a session's variables under a name; rollback restores it. Takes milliseconds, whatever their size. Files are not included. Using a name again replaces its copy.",
  input: z.strictObject({ session_id: z.string(), name: z.string().describe("1 to 64 of A-Z a-z 0-9 _ . -") }),
  output: z.object({ session_id: z.string(), name: z.string(), checkpoints: z.array(z.string()) }),
  effect: "changes",
  isIdempotent: true,
  async call({ session_id, name }, sandbox) {
    const session = await sandbox.session(session_id);
    await session.checkpoint(name);
    const checkpoints = session.info.checkpoints.map((one) => one.name);
    return { facts: { session_id, name, checkpoints } };
  },
});
