import type { Dir, Dirent } from "node:fs";
import { opendir, stat } from "node:fs/promises";
import { join } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import type { DenyMatcher } from "./deny.ts";
import { foldName } from "./glob.ts";

export interface FindDeniedOptions {
  /** directory entries to check before the mount is refused */
  readonly maxEntries?: number;
  readonly signal?: AbortSignal;
  /** paths below that are denied for another reason than their name */
  readonly deniedPaths?: ReadonlySet<string>;
  /** matchers of other names that directories below have, such as those of bind mounts, by path */
  readonly alsoAt?: ReadonlyMap<string, readonly DenyMatcher[]>;
}

interface Directory {
  readonly path: string;
  readonly folded: readonly string[];
  readonly others: readonly OtherName[];
}

/** A matcher for entries below a directory that is `depth` names deep. */
interface OtherName {
  readonly depth: number;
  readonly matcher: DenyMatcher;
}

/** The longest path that is searched, below the source. The whole path must fit into the 4096 bytes of the OS, here and in the cell. */
const maxPathBytes = 2048;

/**
 * Walks a mount's source and returns the relative paths that must be hidden, topmost only. Links are not followed: inside
 * the cell they can only lead into the mount itself. A directory that cannot be read is hidden too, and so is one that is too deep.
 * The attack: a program makes thousands of nested directories, and no later session starts.
 */
export async function findDenied(
  root: string,
  matcher: DenyMatcher,
  options: FindDeniedOptions = {},
): Promise<string[]> {
  const { maxEntries = 200_000, signal, alsoAt, deniedPaths } = options;
  // The root may be a link, because a bind mount follows it too.
  const source = await stat(root).catch((cause: unknown) => {
    throw refused(`${root} cannot be read, so its denied files cannot be found`, cause);
  });
  if (!source.isDirectory()) return [];
  const denied: string[] = [];
  const othersAt = (path: string, depth: number): OtherName[] =>
    (alsoAt?.get(path) ?? []).map((other) => ({ depth, matcher: other }));
  const waiting: Directory[] = [{ path: "", folded: [], others: othersAt("", 0) }];
  let entries = 0;

  for (let directory = waiting.pop(); directory; directory = waiting.pop()) {
    signal?.throwIfAborted();
    const opened = await openToWalk(join(root, directory.path));
    if (opened === "gone") continue;
    if (opened === "unreadable") {
      if (directory.path === "") throw refused(`${root} cannot be read, so its denied files cannot be found`);
      denied.push(directory.path);
      continue;
    }
    for await (const found of opened) {
      if (++entries > maxEntries) throw refused(`${root} has more than ${maxEntries} entries to check against fs.deny`);
      const entry = { path: join(directory.path, found.name), folded: [...directory.folded, foldName(found.name)] };
      const { others } = directory;
      const isDenied =
        matcher.entry(entry.folded) !== undefined ||
        others.some((other) => other.matcher.entry(entry.folded.slice(other.depth)) !== undefined) ||
        deniedPaths?.has(entry.path) === true;
      if ((isDenied || found.isDirectory()) && hasUnreadableName(found)) {
        // Node cannot represent such a name exactly, so the entry can be neither checked nor hidden.
        throw refused(`${root} has a name that is not UTF-8 and cannot be checked: ${JSON.stringify(entry.path)}`);
      }
      const isTooDeep = found.isDirectory() && Buffer.byteLength(entry.path) > maxPathBytes;
      if (isDenied || isTooDeep) denied.push(entry.path);
      else if (found.isDirectory()) {
        waiting.push({ ...entry, others: [...others, ...othersAt(entry.path, entry.folded.length)] });
      }
    }
  }
  return denied.sort();
}

async function openToWalk(path: string): Promise<Dir | "gone" | "unreadable"> {
  try {
    return await opendir(path, { bufferSize: 256 });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    // A directory that has been replaced by a file or a link has no entries any more.
    return code === "ENOENT" || code === "ENOTDIR" ? "gone" : "unreadable";
  }
}

function hasUnreadableName(entry: Dirent): boolean {
  return entry.name.includes("\ufffd");
}

function refused(message: string, cause?: unknown): CodecellError {
  const hint = "mount a smaller directory, or move files out of it";
  return new CodecellError("policy_refused", message, { hint, cause, details: { rule: "fs.deny" } });
}
