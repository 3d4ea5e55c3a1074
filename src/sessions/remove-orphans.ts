import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { isHeld, takeLock } from "../lib/liveness-lock.ts";
import { type Logger, silentLogger } from "../lib/logger.ts";
import type { SessionStore } from "./store.ts";

/** The lock that a manager holds as long as it lives; its workspaces carry the same tag. */
export function ownerLock(runtimeDir: string, tag: string): string {
  return join(runtimeDir, `owner-${tag}`);
}

/** A socket on its way to be a lock is not one for this long at most. */
const takingMs = 10_000;

/** Removes what killed managers left: workspaces that no saved session names, and the sockets of locks. */
export async function removeOrphans(
  store: SessionStore,
  runtimeDir: string,
  logger: Logger = silentLogger,
): Promise<void> {
  await removeWorkspaces(store, runtimeDir, logger);
  for (const name of await readdir(runtimeDir)) await removeLock(join(runtimeDir, name), name);
}

/** The lock of a dead process. Taking it first keeps us from removing one that somebody takes over right now. */
async function removeLock(path: string, name: string): Promise<void> {
  if (/^(?:owner-m[0-9a-f]{12}|session-[0-9a-f]{24})$/.test(name)) {
    if (!(await isHeld(path))) await (await takeLock(path))?.[Symbol.asyncDispose]();
  } else if (/^(?:owner-m[0-9a-f]{12}|session-[0-9a-f]{24})\.(?:[0-9a-f]{8}|takeover)$/.test(name)) {
    const madeMs = await lstat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => Date.now(),
    );
    if (Date.now() - madeMs > takingMs) await rm(path, { recursive: true, force: true });
  }
}

async function removeWorkspaces(store: SessionStore, runtimeDir: string, logger: Logger): Promise<void> {
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
