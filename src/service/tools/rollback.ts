import { z } from "zod";
import { checkpointSchema, encodeCheckpoint } from "../wire/checkpoint.ts";
import { defineTool } from "./tool.ts";

export const rollbackTool = defineTool({
  name: "rollback",
  title: "Go back to a checkpoint",
  description:
    "Restore a session's variables from a checkpoint. The checkpoint stays and can be used again. Files are not changed.",
  input: z.strictObject({ session_id: z.string(), name: z.string() }),
  output: z.strictObject({ session_id: z.string(), ...checkpointSchema.shape }),
  effect: "destroys",
  isIdempotent: true,
  async call({ session_id, name }, sandbox) {
    const session = await sandbox.session(session_id);
    return { facts: { session_id, ...encodeCheckpoint(await session.rollback(name)) } };
  },
});
