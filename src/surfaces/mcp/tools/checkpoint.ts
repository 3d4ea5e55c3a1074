import { z } from "zod";
import { checkpointSchema, encodeCheckpoint } from "../../../service/wire/checkpoint.ts";
import { defineTool } from "../tool.ts";

export const checkpointTool = defineTool({
  name: "checkpoint",
  title: "Remember a session's variables",
  description:
    "Freeze a copy of a session's variables under a name, so that rollback can go back to it. It takes milliseconds, whatever the variables hold. Files are not part of it. The same name again replaces the copy.",
  input: z.strictObject({ session_id: z.string(), name: z.string().describe("1 to 64 of A-Z a-z 0-9 _ . -") }),
  output: z.strictObject({
    session_id: z.string(),
    ...checkpointSchema.shape,
    checkpoints: z.array(checkpointSchema).describe("all of this session"),
  }),
  effect: "changes",
  isIdempotent: true,
  async call({ session_id, name }, sandbox) {
    const session = await sandbox.session(session_id);
    const made = encodeCheckpoint(await session.checkpoint(name));
    return { facts: { session_id, ...made, checkpoints: session.info.checkpoints.map(encodeCheckpoint) } };
  },
});
