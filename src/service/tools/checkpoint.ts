import { z } from "zod";
import { checkpointSchema, encodeCheckpoint } from "../wire/checkpoint.ts";
import { defineTool } from "./tool.ts";

export const checkpointTool = defineTool({
  name: "checkpoint",
  title: "Save a checkpoint",
  description:
    "Save a copy of a session's variables under a name; rollback restores it. Takes milliseconds, whatever their size. Files are not included. Using a name again replaces its copy.",
  input: z.strictObject({ session_id: z.string(), name: z.string().describe("1 to 64 of A-Z a-z 0-9 _ . -") }),
  output: z.strictObject({
    session_id: z.string(),
    ...checkpointSchema.shape,
    checkpoints: z.array(checkpointSchema).describe("all checkpoints of this session"),
  }),
  effect: "changes",
  isIdempotent: true,
  async call({ session_id, name }, sandbox) {
    const session = await sandbox.session(session_id);
    const made = encodeCheckpoint(await session.checkpoint(name));
    return { facts: { session_id, ...made, checkpoints: session.info.checkpoints.map(encodeCheckpoint) } };
  },
});
