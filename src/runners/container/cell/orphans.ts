import { z } from "zod";
import { isHeld } from "../../../lib/files/liveness-lock.ts";
import type { Logger } from "../../../lib/log/logger.ts";
import { understood } from "../engine/engine-answer.ts";
import type { EngineClient } from "../engine/engine-client.ts";
import type { Removals } from "./removals.ts";

const listMs = 5_000;
const listedSchema = z.array(z.object({ Id: z.string(), Labels: z.record(z.string(), z.string()).nullish() }));

/** On every container that is ours: who made it, and the lock that its maker holds as long as it lives. */
export const ownerLabel = "codecell.owner";
export const lockLabel = "codecell.lock";
/** The machine whose file system the lock is in: an engine may serve several. */
export const machineLabel = "codecell.machine";

/**
 * Has containers removed whose maker is dead, while nobody waits for it: an engine may take long over each of them. What a
 * living one owns, or one on another machine, is not touched.
 */
export async function removeOrphanContainers(
  client: EngineClient,
  machine: string,
  removals: Removals,
  logger: Logger,
): Promise<void> {
  const limits = { timeoutMs: listMs, signal: removals.disposed };
  const filters = JSON.stringify({ label: [`${machineLabel}=${machine}`, ownerLabel] });
  const answer = await client.json({ path: "/containers/json", query: { all: true, filters }, ...limits });
  for (const { Id, Labels } of understood(client, listedSchema, answer, "a list of containers")) {
    const lock = Labels?.[lockLabel];
    if (lock === undefined || (await isHeld(lock))) continue;
    logger.info("removing the container of a process that is gone", { container: Id.slice(0, 12) });
    removals.later(client, Id);
  }
}
