import type { Stats } from "node:fs";
import { lstat, realpath, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { denyMatcher } from "../../policy/deny.ts";
import { findDenied } from "../../policy/find-denied.ts";
import { resolveSource } from "../../policy/host-source.ts";
import type { Policy } from "../../policy/schema.ts";

/** A host directory that a cell sees. */
export interface CellMount {
  /** the rule that asks for it */
  readonly rule: string;
  /** real host path */
  readonly source: string;
  /** name of its staging place in a template */
  readonly stage: string;
  readonly target: string;
  readonly readOnly: boolean;
  /** relative paths below the source that are covered, because a deny glob matches */
  readonly deny: readonly { readonly path: string; readonly kind: "file" | "directory" }[];
  readonly kind: "file" | "directory";
  /** the host's owner of the source */
  readonly ownerUid: number;
}

/** The host directories of a policy, resolved and searched for denied entries. */
export async function resolveMounts(policy: Policy): Promise<CellMount[]> {
  const matcher = denyMatcher(policy.fs.deny);
  const asked = [
    ...(policy.fs.workspace ? [one("fs.workspace", policy.fs.workspace, "/workspace", false)] : []),
    ...(policy.fs.deps ? [one("fs.deps", policy.fs.deps, "/deps", true)] : []),
    ...policy.fs.mounts.map(({ source, target, mode }) => one("fs.mounts", source, target, mode === "ro")),
  ];
  return Promise.all(
    asked.map(async (mount, index) => {
      const source = await resolveSource({ rule: mount.rule, path: mount.source, writable: !mount.readOnly }, matcher);
      const stats = await stat(source);
      const kind = kindOf(stats);
      const deny = await Promise.all((await findDenied(source, matcher)).map((path) => coverOf(source, path)));
      return { ...mount, source, stage: String(index), deny: deny.flat(), kind, ownerUid: stats.uid };
    }),
  );
}

function one(rule: string, source: string, target: string, readOnly: boolean) {
  return { rule, source, target, readOnly };
}

/**
 * What to cover for a denied entry. A link is covered where it leads: a mount over it would follow it, and it may lead
 * to a file with a harmless name. One that leaves the mount leads nowhere inside the cell.
 */
async function coverOf(source: string, path: string) {
  const entry = join(source, path);
  const stats = await lstat(entry);
  if (!stats.isSymbolicLink()) return [{ path, kind: kindOf(stats) }];
  const real = await realpath(entry).catch(() => undefined);
  if (!real?.startsWith(`${source}/`)) return [];
  return [{ path: relative(source, real), kind: kindOf(await lstat(real)) }];
}

function kindOf(stats: Stats): "file" | "directory" {
  return stats.isDirectory() ? "directory" : "file";
}
