import { join } from "node:path";
import { isHeld } from "../lib/liveness-lock.ts";
import { type Logger, silentLogger } from "../lib/logger.ts";
import type { SessionStore } from "./store.ts";

/** The lock that a manager holds as long as it lives; its workspaces carry the same tag. */
export function ownerLock(runtimeDir: string, tag: string): string {
  return join(runtimeDir, `owner-${tag}`);
}

/** Removes the workspaces that no living manager owns and no saved session names. */
export async function removeOrphans(
  store: SessionStore,
  runtimeDir: string,
  logger: Logger = silentLogger,
): Promise<void> {
  const ownerless: string[] = [];
  for (const name of await store.listWorkspaces()) {
    const tag = /^(m[0-9a-f]{12})-\d+$/.exec(name)?.[1];
    if (tag !== undefined && !(await isHeld(ownerLock(runtimeDir, tag)))) ownerless.push(name);
  }
  if (ownerless.length === 0) return;
  // Only after the owners are known to be dead: one that lives may still save a session in one of its workspaces.
  const named = new Set<string>();
  for (const id of await store.list()) {
    const record = await store.read(id).catch(() => "damaged" as const);
    if (record === "damaged") return; // it may name any of them
    if (record) named.add(record.workspace);
  }
  for (const name of ownerless.filter((one) => !named.has(one))) {
    logger.info("removing the workspace of a dead owner", { name });
    await store.removeWorkspace(name);
  }
}
