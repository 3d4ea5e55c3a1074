import { z } from "zod";
import { isHeld } from "../../../lib/files/liveness-lock.ts";
import type { Logger } from "../../../lib/log/logger.ts";
import { parseAnswer } from "../engine/engine-answer.ts";
import type { EngineClient } from "../engine/engine-client.ts";
import type { Removals } from "./removals.ts";

const listMs = 5_000;
const listedSchema = z.array(z.object({ Id: z.string(), Labels: z.record(z.string(), z.string()).nullish() }));

/** Labels of every container of codecell: its owner, and the lock that the owner holds while it runs. */
export const ownerLabel = "codecell.owner";
export const lockLabel = "codecell.lock";
/** The machine that has the lock file, because one engine may serve several machines. */
export const machineLabel = "codecell.machine";

/**
 * Removes containers whose owner has exited. It runs in the background, because an engine may be slow. Containers of
 * running owners and of other machines are kept.
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
  for (const { Id, Labels } of parseAnswer(client, listedSchema, answer, "a list of containers")) {
    const lock = Labels?.[lockLabel];
    if (lock === undefined || (await isHeld(lock))) continue;
    logger.info("removing the container of a process that has exited", { container: Id.slice(0, 12) });
    removals.later(client, Id);
  }
}
