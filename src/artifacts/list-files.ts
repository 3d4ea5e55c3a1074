import { type Dir, type Dirent, opendir } from "node:fs";
import { promisify } from "node:util";
import { loopTurns } from "../lib/waiting/loop-turns.ts";
import { foldName } from "../policy/paths/glob.ts";
import { artifactNameProblem } from "./artifact-name.ts";
import { type Directory, withDirectory } from "./directory.ts";
import { FirstPaths } from "./first-paths.ts";
import type { FileFacts, FileList, ListOptions } from "./workspace-file.ts";
import { unfinishedName } from "./write-file.ts";

/** Parts of the longest path that is listed. */
export const maxListedParts = 64;

export interface WalkLimits {
  /** directory entries read for one page */
  readonly maxEntries: number;
  /** depth of directories; each needs a descriptor during the walk */
  readonly maxDepth: number;
}

/** Returns the glob that denies a path; `entry` does it for folded segments whose parents are known to be allowed. */
export interface FileDeny {
  (path: string): string | undefined;
  readonly entry?: (folded: readonly string[]) => string | undefined;
}

/** A directory of the walk: its path with a slash at the end, and the same as folded segments. */
interface Place {
  readonly path: string;
  readonly folded: readonly string[];
}

interface Walk {
  readonly options: ListOptions;
  readonly limits: WalkLimits;
  readonly deny: FileDeny;
  readonly found: FirstPaths;
  /** how many more entries are visited in this turn of the event loop */
  leftOfTurn: number;
  entries: number;
  leftOut: number;
  truncated: boolean;
}

/** How many entries are visited in one turn: less than a millisecond. */
const turnEntries = 256;

const openDir = promisify(opendir) as (path: string, options: { bufferSize: number }) => Promise<Dir>;

/** One page of the regular files below a directory. Calls stat only for the files of the page. */
export async function listFiles(
  root: Directory,
  options: ListOptions,
  limits: WalkLimits,
  deny: FileDeny,
): Promise<FileList> {
  const limit = Math.min(Math.max(1, Math.floor(options.limit ?? 1000)), 10_000);
  const walk: Walk = {
    options,
    limits,
    deny,
    found: new FirstPaths(limit + 1),
    leftOfTurn: 0,
    entries: 0,
    leftOut: 0,
    truncated: false,
  };
  await walkDirectory(root, { path: "", folded: [] }, walk);
  const paths = walk.found.sorted();
  const page = paths.slice(0, limit);
  const last = page.at(-1);
  const files = await factsOf(root, page);
  return {
    files,
    ...(paths.length > limit && last !== undefined ? { next: last } : {}),
    leftOut: walk.leftOut,
    truncated: walk.truncated,
  };
}

async function walkDirectory(directory: Directory, place: Place, walk: Walk): Promise<void> {
  const below: string[] = [];
  const entries = await openDir(directory.path, { bufferSize: turnEntries });
  try {
    await forEachEntry(entries, walk, (entry) => {
      if (++walk.entries > walk.limits.maxEntries) walk.truncated = true;
      else visit(entry, place, walk, below);
      return walk.entries <= walk.limits.maxEntries;
    });
  } finally {
    await entries.close();
  }
  for (const name of below) {
    if (walk.entries > walk.limits.maxEntries) return;
    if (place.folded.length + 1 >= walk.limits.maxDepth) {
      walk.truncated = true;
      return;
    }
    // Skip a directory that was removed or replaced by a link meanwhile.
    const child = await directory.openDirectory(name).catch(() => undefined);
    if (child === undefined) {
      walk.leftOut++;
      continue;
    }
    try {
      await walkDirectory(child, inside(place, name), walk);
    } catch {
      walk.leftOut++;
    } finally {
      await child[Symbol.asyncDispose]();
    }
  }
}

function visit(entry: Dirent, place: Place, walk: Walk, below: string[]): void {
  const { prefix = "", after = "" } = walk.options;
  const path = `${place.path}${entry.name}`;
  if (entry.isDirectory()) {
    const all = `${path}/`;
    const mayHavePrefix = all.startsWith(prefix) || prefix.startsWith(all);
    const mayComeAfter = all > after || after.startsWith(all);
    if (!mayHavePrefix || !mayComeAfter) return;
    if (isUsable(entry.name, place, walk)) below.push(entry.name);
    else walk.leftOut++;
    return;
  }
  if (!path.startsWith(prefix) || path <= after || unfinishedName.test(entry.name)) return;
  if (entry.isFile() && isUsable(entry.name, place, walk)) walk.found.add(path);
  else walk.leftOut++;
}

function isUsable(name: string, place: Place, { deny }: Walk): boolean {
  const path = `${place.path}${name}`;
  if (artifactNameProblem(path) !== undefined) return false;
  return (deny.entry ? deny.entry(inside(place, name).folded) : deny(path)) === undefined;
}

function inside({ path, folded }: Place, name: string): Place {
  return { path: `${path}${name}/`, folded: [...folded, foldName(name)] };
}

/**
 * Uses a callback: a promise for each of 100,000 entries costs more than reading them. The attack: 64 listings of 60,000 files at
 * the same time, which leave no time for anybody else.
 */
function forEachEntry(entries: Dir, walk: Walk, visitEntry: (entry: Dirent) => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const take = (error: unknown, entry: Dirent | null) => {
      if (error) reject(error);
      else if (entry === null || !visitEntry(entry)) resolve();
      else entries.read(next);
    };
    const next = (error: unknown, entry: Dirent | null) => {
      if (walk.leftOfTurn-- > 0) return take(error, entry);
      walk.leftOfTurn = turnEntries - 1;
      void loopTurns.next().then(() => take(error, entry));
    };
    entries.read(next);
  });
}

/** Adds sizes and times, opening each directory once. Files that are gone or no longer regular are left out. */
async function factsOf(root: Directory, paths: readonly string[]): Promise<FileFacts[]> {
  const names = new Map<string, string[]>();
  for (const path of paths) {
    const parent = path.slice(0, path.lastIndexOf("/") + 1);
    const list = names.get(parent);
    if (list) list.push(path.slice(parent.length));
    else names.set(parent, [path.slice(parent.length)]);
  }
  const facts = new Map<string, FileFacts>();
  for (const [parent, list] of names) {
    const ask = (directory: Directory) =>
      inBatches(list, 64, async (name) => {
        const found = await directory.lstat(name).catch(() => undefined);
        if (!found?.isFile()) return;
        facts.set(parent + name, { path: parent + name, size: found.size, modifiedMs: Math.floor(found.mtimeMs) });
      });
    await withDirectory(root, parent.split("/").slice(0, -1), ask).catch(() => {});
  }
  return paths.flatMap((path) => facts.get(path) ?? []);
}

async function inBatches<T>(items: readonly T[], size: number, work: (item: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += size) await Promise.all(items.slice(at, at + size).map(work));
}
