import { z } from "zod";
import type { SessionInfo } from "../../sessions/session.ts";

/** A variable that is not where it should be. */
export const missingSchema = z.object({ name: z.string(), reason: z.string() });

export const checkpointSchema = z.object({
  name: z.string(),
  after_run: z.number().describe("the last run before it"),
  created: z.string(),
});

export const sessionSchema = z.object({
  id: z.string(),
  state: z.enum(["live", "saved", "closed"]).describe("saved: the next call brings it back"),
  busy: z.boolean(),
  persistent: z.boolean(),
  runs: z.number(),
  runner: z.string(),
  created: z.string(),
  used: z.string(),
  checkpoints: z.array(checkpointSchema),
  saved_variables: z.number().nullable(),
  shared_cell: z.number().describe("sessions in the same cell, this one included"),
});

export function sessionView(info: SessionInfo): z.output<typeof sessionSchema> {
  const { id, state, isBusy, isPersistent, runs, runner, createdMs, usedMs, snapshot, sharers } = info;
  return {
    ...{ id, state, busy: isBusy, persistent: isPersistent, runs, runner },
    created: new Date(createdMs).toISOString(),
    used: new Date(usedMs).toISOString(),
    checkpoints: info.checkpoints.map(checkpointView),
    saved_variables: snapshot?.saved.length ?? null,
    shared_cell: sharers,
  };
}

export function checkpointView({ name, run, atMs }: { name: string; run: number; atMs: number }) {
  return { name, after_run: run, created: new Date(atMs).toISOString() };
}
