import { opendir, unlink } from "node:fs/promises";
import { Directory } from "./directory.ts";
import { unfinishedName } from "./write-file.ts";

/** Longer than an upload may stall before it is cancelled. */
const abandonedMs = 120_000;
/** A session must not wait long for its workspace to be searched. */
const maxEntries = 20_000;
const maxDepth = 64;

/** Removes files of uploads whose process was killed: nobody lists them, and they take room of the workspace for ever. */
export async function removeUnfinished(workspace: string, nowMs = Date.now()): Promise<void> {
  await using root = await Directory.open(workspace);
  await removeBelow(root, { nowMs, entriesLeft: maxEntries }, 0);
}

async function removeBelow(
  directory: Directory,
  search: { readonly nowMs: number; entriesLeft: number },
  depth: number,
): Promise<void> {
  const below: string[] = [];
  for await (const entry of await opendir(directory.path)) {
    if (search.entriesLeft-- <= 0) return;
    if (entry.isDirectory()) below.push(entry.name);
    if (!entry.isFile() || !unfinishedName.test(entry.name)) continue;
    const { mtimeMs } = await directory.lstat(entry.name);
    if (search.nowMs - mtimeMs > abandonedMs) await unlink(directory.entry(entry.name));
  }
  if (depth >= maxDepth) return;
  for (const name of below) {
    // A program may replace or remove it meanwhile.
    const child = await directory.openDirectory(name).catch(() => undefined);
    if (child === undefined) continue;
    await removeBelow(child, search, depth + 1)
      .catch(() => {})
      .finally(() => child[Symbol.asyncDispose]());
  }
}
