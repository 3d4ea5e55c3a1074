import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isHeld, takeLock } from "../../../lib/files/liveness-lock.ts";
import { removeDeadFiles } from "../../../lib/files/living-file.ts";
import { removeTree } from "../../../lib/files/remove-tree.ts";
import { type Logger, silentLogger } from "../../../lib/log/logger.ts";
import { removeDiskLeftovers } from "../../../runners/linux/disk/image/disk-leftovers.ts";
import type { SessionStorage } from "../session-storage.ts";

/** The lock that a codecell holds while it is open; its workspaces have the same tag. */
export function ownerLock(runtimeDir: string, tag: string): string {
  return join(runtimeDir, `owner-${tag}`);
}

/** Where a codecell keeps session files if the state directory cannot be written. It is removed with its owner. */
export function ownState(runtimeDir: string, tag: string): string {
  return join(runtimeDir, `state-${tag}`);
}

/** Locks of codecells, sessions, services and container runners; of a claimed file, only its temporary names. */
const lockName =
  /^(?:(?:owner-m|service-|containers-)[0-9a-f]{12}|session-[0-9a-f]{24}|[a-z0-9.-]+\.alive(?=\.))(|\.[0-9a-f]{8}|\.takeover)$/;
/** A takeover of a lock never takes this long. */
const takeoverMs = 10_000;
/** For an instant, a socket that is bound but does not listen yet looks dead. */
const bindingMs = 100;

/** Directories of a runner's host are removed with its processes and control groups: see `runners/linux/janitor/dead-hosts.ts`. */
const isNoHosts = (name: string) => !/^cc[0-9a-f]{12}$/.test(name);

/** Removes what killed processes left behind in the store and in the runtime directory. */
export async function removeLeftovers(store: SessionStorage, runtimeDir: string, logger: Logger): Promise<void> {
  await store.removeUnfinished();
  await removeOrphans(store, runtimeDir, logger);
}

/** Removes what killed processes left behind: workspaces without a saved session, files of servers, and sockets of locks. */
export async function removeOrphans(
  store: SessionStorage,
  runtimeDir: string,
  logger: Logger = silentLogger,
): Promise<void> {
  await removeWorkspaces(store, runtimeDir, logger);
  await removeDisks(store, runtimeDir, logger);
  await removeDeadFiles(runtimeDir, isNoHosts);
  for (const name of await readdir(runtimeDir)) {
    const tag = /^state-(m[0-9a-f]{12})$/.exec(name)?.[1];
    if (tag === undefined) await removeLock(join(runtimeDir, name), name);
    else if (!(await isHeld(ownerLock(runtimeDir, tag)))) await removeTree(join(runtimeDir, name)).catch(() => {});
  }
}

/** Removes the lock of a dead process. It is taken first, because another process may take it over right now. */
async function removeLock(path: string, name: string): Promise<void> {
  const [, kind] = lockName.exec(name) ?? [];
  if (kind === undefined) return;
  if (kind === ".takeover") {
    const madeMs = await lstat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => Date.now(),
    );
    if (Date.now() - madeMs > takeoverMs) await rm(path, { recursive: true, force: true });
  } else if (!(await isHeld(path))) {
    if (kind === "") await (await takeLock(path))?.[Symbol.asyncDispose]();
    else if (await isDeadFor(bindingMs, path)) await rm(path, { force: true });
  }
}

async function isDeadFor(ms: number, path: string): Promise<boolean> {
  await pause(ms);
  return !(await isHeld(path));
}

/** Removes disks that no session has, and unmounts those of sessions that no process has open. */
async function removeDisks(store: SessionStorage, runtimeDir: string, logger: Logger): Promise<void> {
  const isOpen = async (workspace: string) => {
    for (const record of await store.records("")) {
      if (record.workspace === workspace && (await store.isLocked(record.id))) return true;
    }
    const tag = /^(m[0-9a-f]{12})-\d+$/.exec(workspace)?.[1];
    return tag !== undefined && (await isHeld(ownerLock(runtimeDir, tag)));
  };
  await removeDiskLeftovers(store.workspaces.directory, isOpen).catch((error: unknown) => {
    logger.warn("the disks of a process that is gone could not be removed", { error });
  });
}

async function removeWorkspaces(store: SessionStorage, runtimeDir: string, logger: Logger): Promise<void> {
  const ownerless: string[] = [];
  for (const name of await store.workspaces.list()) {
    const tag = /^(m[0-9a-f]{12})-\d+$/.exec(name)?.[1];
    if (tag !== undefined && !(await isHeld(ownerLock(runtimeDir, tag)))) ownerless.push(name);
  }
  if (ownerless.length === 0) return;
  // Read only after the owners are known to be dead: a live one may still save a session in one of its workspaces.
  const named = await store.namedAmong(ownerless);
  for (const name of ownerless.filter((one) => !named.has(one))) {
    logger.info("removing the workspace of a process that is gone", { name });
    // A workspace that cannot be removed must not keep this codecell, or any later one, from opening.
    await store.workspaces.remove(name).catch((error: unknown) => {
      logger.warn("the workspace of a process that is gone could not be removed", { name, error });
    });
  }
}
