import { z } from "zod";
import { checkpointSchema, encodeCheckpoint } from "../../../service/wire/checkpoint.ts";
import { defineTool } from "../tool.ts";

export const rollbackTool = defineTool({
  name: "rollback",
  title: "Go back to a checkpoint",
  description:
    "Set a session's variables back to how they were at a checkpoint, which stays and can be gone back to again. Files are left as they are now.",
  input: z.strictObject({ session_id: z.string(), name: z.string() }),
  output: z.strictObject({ session_id: z.string(), ...checkpointSchema.shape }),
  effect: "destroys",
  isIdempotent: true,
  async call({ session_id, name }, sandbox) {
    const session = await sandbox.session(session_id);
    return { facts: { session_id, ...encodeCheckpoint(await session.rollback(name)) } };
  },
});
