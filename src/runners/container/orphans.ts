import { isHeld } from "../../lib/liveness-lock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { EngineClient } from "./engine-client.ts";
import { endContainer } from "./removals.ts";

const listMs = 5_000;

/** On every container that is ours: who made it, and the lock that its maker holds as long as it lives. */
export const ownerLabel = "codecell.owner";
export const lockLabel = "codecell.lock";
/** The machine whose file system the lock is in: an engine may serve several. */
export const machineLabel = "codecell.machine";

/** Removes containers whose maker is dead. What a living one owns, or one on another machine, is not touched. */
export async function removeOrphanContainers(client: EngineClient, machine: string, logger: Logger): Promise<void> {
  const filters = JSON.stringify({ label: [`${machineLabel}=${machine}`, ownerLabel] });
  const found = await client.json<{ Id: string; Labels?: Record<string, string> }[]>({
    ...{ path: "/containers/json", query: { all: true, filters }, timeoutMs: listMs },
  });
  for (const { Id, Labels } of found) {
    const lock = Labels?.[lockLabel];
    if (lock === undefined || (await isHeld(lock))) continue;
    logger.info("removing the container of a process that is gone", { container: Id.slice(0, 12) });
    await endContainer(client, Id).catch((error: unknown) => {
      logger.warn("a container could not be removed", { container: Id.slice(0, 12), error });
    });
  }
}
