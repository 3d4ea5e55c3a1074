import type { Stats } from "node:fs";
import { lstat, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { hostMounts, type MountinfoEntry, mountIdOf } from "../../../lib/files/mountinfo.ts";
import { type DenyMatcher, denyMatcher, foldPath } from "../../../policy/paths/deny.ts";
import { type FindDeniedOptions, findDenied } from "../../../policy/paths/find-denied.ts";
import { hostGrants } from "../../../policy/paths/host-grants.ts";
import { isBelow } from "../../../policy/paths/host-path.ts";
import { boundFrom, resolveSource } from "../../../policy/paths/host-source.ts";
import { otherPaths } from "../../../policy/paths/other-paths.ts";
import type { Policy } from "../../../policy/schema.ts";
import { packagesTarget } from "../../cell-packages.ts";
import { type NestedMount, nestedMounts } from "./nested-mounts.ts";

/** A host directory that a cell sees. */
export interface CellMount {
  /** the rule that grants it */
  readonly rule: string;
  /** real host path */
  readonly source: string;
  /** name of its staging directory in a template */
  readonly stage: string;
  readonly target: string;
  readonly readOnly: boolean;
  /** relative paths in the source that are covered, because a deny glob matches */
  readonly deny: readonly { readonly path: string; readonly kind: "file" | "directory" }[];
  /** relative directories that cannot be renamed, because a deny glob names them: `.git` for `.git/config` */
  readonly pins: readonly string[];
  /** file systems that the host has mounted below the source */
  readonly nested: readonly NestedMount[];
  readonly kind: "file" | "directory";
  /** device and inode of the source, so that the cell can check that it got the same directory */
  readonly identity: string;
  /** owner of the source on the host */
  readonly ownerUid: number;
}

/** The host directories of a policy, resolved and searched for denied entries. */
export async function resolveMounts(policy: Policy): Promise<CellMount[]> {
  const grants = hostGrants(policy).map(({ rule, source, target, isWritable }) => {
    return { rule, source, target, readOnly: !isWritable };
  });
  if (grants.length === 0) return [];
  const matcher = denyMatcher(policy.fs.deny); // after the check above, because it takes a millisecond of every start
  const table = await hostMounts();
  const mounts = await Promise.all(
    grants.map(async (mount, index) => {
      const source = await resolveSource(
        { rule: mount.rule, path: mount.source, writable: !mount.readOnly },
        matcher,
        table,
      );
      const { dev, ino } = await stat(source, { bigint: true });
      const stats = await stat(source);
      const kind = kindOf(stats);
      const nested = await nestedMounts(source, table);
      const origins = await mountOrigins({ source, nested, readOnly: mount.readOnly }, matcher, table);
      const local = matcher.below(source);
      const denied = await findDenied(source, local, origins);
      const deny = (await Promise.all(denied.map((path) => coverOf(source, path)))).flat();
      // Only what is hidden for its name needs its parents' names.
      const named = denied.filter((path) => local(path) !== undefined);
      const pins = mount.readOnly ? [] : [...new Set(named.flatMap((path) => pinsOf(path, matcher)))].sort();
      const found = { source, deny, pins, nested, kind, identity: `${dev}:${ino}`, ownerUid: stats.uid };
      return { ...mount, ...found, requested: mount.source, stage: String(index) };
    }),
  );
  for (const mount of mounts) await refuseLinkFromWritable(mount, mounts);
  return mounts;
}

/** The mount of packages. No deny glob applies: they come from an index, not from this machine. */
export async function packagesMount(directory: string): Promise<CellMount> {
  const source = await realpath(directory);
  const { dev, ino, uid } = await stat(source, { bigint: true });
  return {
    ...{ rule: "kernel.packages", source, stage: "packages", target: packagesTarget, readOnly: true },
    ...{ deny: [], pins: [], nested: [], kind: "directory" as const, identity: `${dev}:${ino}`, ownerUid: Number(uid) },
  };
}

/** The same mounts, but `fs.workspace` read-only if it holds far more than `proc.disk`. */
export function closedWorkspace(mounts: readonly CellMount[], isReadOnly: boolean): readonly CellMount[] {
  if (!isReadOnly) return mounts;
  return mounts.map((mount) => (mount.rule === "fs.workspace" ? { ...mount, readOnly: true, pins: [] } : mount));
}

/**
 * What bind mounts in and below a source need to be checked for: where their directories come from. The attack: `~/.aws`
 * mounted as `project/data`, or `~/.config` as `project/settings`, where a glob such as `.config/gcloud/**` matches nothing.
 */
async function mountOrigins(
  { source, nested, readOnly }: { source: string; nested: readonly NestedMount[]; readOnly: boolean },
  matcher: DenyMatcher,
  table: readonly MountinfoEntry[],
): Promise<FindDeniedOptions> {
  const alsoAt = new Map<string, DenyMatcher[]>();
  const deniedPaths = new Set<string>();
  for (const path of ["", ...nested.map((one) => one.path)]) {
    const point = join(source, path);
    if (path !== "" && (await boundFrom(point, { writable: !readOnly }, matcher, table)) !== undefined) {
      deniedPaths.add(path);
    }
    const others = otherPaths(point, await mountIdOf(point), table);
    if (others.length > 0) alsoAt.set(path, others.map(matcher.below));
  }
  return { alsoAt, deniedPaths };
}

/**
 * Directories that must keep their names for a deny glob to match. Stops a cell from renaming `.git` to `git`: the next
 * cell would find `git/config`, which no glob denies.
 */
function pinsOf(path: string, matcher: DenyMatcher): string[] {
  const pins: string[] = [];
  for (let parent = dirname(path), tail = basename(path); parent !== "."; parent = dirname(parent)) {
    if (matcher.entry(foldPath(tail)) !== undefined) break;
    pins.push(parent);
    tail = `${basename(parent)}/${tail}`;
  }
  return pins;
}

/**
 * Stops a cell from replacing a directory in its writable mount with a symlink, which would give the next cell any
 * directory of the host.
 */
async function refuseLinkFromWritable(
  mount: { rule: string; requested: string; source: string },
  mounts: readonly { source: string; readOnly: boolean }[],
): Promise<void> {
  for (let parent = dirname(mount.requested); parent !== dirname(parent); parent = dirname(parent)) {
    const real = await realpath(parent).catch(() => parent);
    const inside = mounts.find((one) => !one.readOnly && (real === one.source || isBelow(real, one.source)));
    if (inside && !isBelow(mount.source, inside.source)) {
      const message = `${mount.rule}: ${mount.requested} is a symlink that leads out of ${inside.source}, which cells can write to`;
      throw new CodecellError("policy_refused", message, {
        hint: "remove the symlink, or mount the directory that it points to",
        details: { rule: mount.rule },
      });
    }
  }
}

/**
 * What to cover for a denied entry. For a symlink, its target is covered, because the target may have a harmless name. A
 * symlink that leads out of the mount needs no cover: its target does not exist in the cell.
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
