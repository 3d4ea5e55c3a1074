import { z } from "zod";
import type { Session } from "../../../sessions/session.ts";
import { encodeTime, timestamp } from "../timestamp.ts";

const nodeSchema = z.strictObject({
  id: z.string(),
  parent: z.string().nullable().describe("the node whose state this one descends from; null: the start"),
  kind: z
    .enum(["start", "checkpoint", "rollback", "reset", "fork", "restored"])
    .describe("`restored`: the variables of an earlier run came back, after a crash or from a save"),
  name: z.string().nullable().describe("of the checkpoint; null: an undo, or a kind without a name"),
  run: z.int().describe("number of the last run before it; of the start of a fork: the run of its parent"),
  at: timestamp,
  session_id: z
    .string()
    .nullable()
    .describe("a fork: the new session; the start of a fork: the session that it comes from; otherwise null"),
  state: z.enum(["kept", "gone"]).nullable().describe("of a checkpoint: whether its copy still exists; otherwise null"),
  can_roll_back: z.boolean().describe("whether a rollback can return to it"),
});

export const lineageSchema = z.strictObject({
  nodes: z.array(nodeSchema).describe("oldest first; at most 200"),
  current: z.strictObject({
    node: z.string().describe("the node that the variables descend from"),
    run: z.int().describe("number of the session's last run"),
  }),
  truncated: z.boolean().describe("whether older nodes are no longer kept"),
});
/** Where the variables of a session come from, in the wire format. */
export type WireLineage = z.output<typeof lineageSchema>;

export function encodeLineage({ nodes, current, truncated }: Awaited<ReturnType<Session["lineage"]>>): WireLineage {
  return {
    nodes: nodes.map(({ id, parent, kind, name, run, atMs, session, canRollBack }) => ({
      ...{ id, parent: parent ?? null, kind, name: name ?? null, run, at: encodeTime(atMs) },
      session_id: session ?? null,
      state: kind === "checkpoint" ? (canRollBack ? "kept" : "gone") : null,
      can_roll_back: canRollBack,
    })),
    current,
    truncated,
  };
}
