import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import type { Session } from "../../sessions/session.ts";
import type { Sandbox } from "../sandbox.ts";
import { checkpointSchema, encodeCheckpoint } from "../wire/sessions/checkpoint.ts";
import { sessionArgument } from "./session-argument.ts";
import { defineTool } from "./tool.ts";

const output = z.strictObject({
  session_id: z.string().describe("of a fork: the new session"),
  action: z.enum(["save", "restore", "fork"]),
  name: z.string().nullable(),
  checkpoints: z.array(checkpointSchema).describe("all checkpoints of this session"),
});

export const checkpointTool = defineTool({
  name: "checkpoint",
  title: "Save, restore or fork variables",
  description:
    "save: keep a copy of a session's variables under a name, in milliseconds. restore: go back to that copy. fork: start another session with a copy of the variables, to try two things at once. Files are not copied.",
  input: z.strictObject({
    action: z.enum(["save", "restore", "fork"]),
    name: z.string().optional().describe("Of the checkpoint; 1 to 64 of A-Z a-z 0-9 _ . -"),
    session_id: sessionArgument,
  }),
  output,
  effect: "destroys", // restore replaces the variables
  isIdempotent: false,
  async call({ action, name, session_id }, sandbox) {
    const session = await sandbox.session(session_id);
    if (action === "fork") return forked(sandbox, session);
    if (name === undefined) throw new CodecellError("usage", `${action} needs the name of a checkpoint`);
    if (action === "save") await session.checkpoint(name);
    else await session.rollback(name);
    const checkpoints = session.info.checkpoints.map(encodeCheckpoint);
    const names = checkpoints.map((one) => one.name).join(", ");
    const text =
      action === "save" ? `saved ${name}; checkpoints: ${names}` : `the variables are those of ${name} again`;
    return { facts: { session_id: session.id, action, name, checkpoints }, text };
  },
});

async function forked(sandbox: Sandbox, session: Session) {
  const fork = await (await sandbox.sessions()).fork(session.id);
  const facts = { session_id: fork.id, action: "fork" as const, name: null, checkpoints: [] };
  return { facts, text: `session_id: ${fork.id}` };
}
