import { realpath } from "node:fs/promises";
import { CodecellError } from "../../lib/errors.ts";
import { hostMounts, type MountinfoEntry, mountIdOf } from "../../lib/files/mountinfo.ts";
import type { DenyMatcher } from "./deny.ts";
import { homeDirectory, refusedPlace } from "./host-path.ts";
import { otherPaths } from "./other-paths.ts";

/** The glob that denies mounting an absolute host path at all, such as `~/.aws`, or undefined. */
export function deniedSource(path: string, matcher: DenyMatcher): string | undefined {
  return matcher(path);
}

export interface HostSource {
  /** rule that names it, such as `fs.workspace` */
  readonly rule: string;
  readonly path: string;
  readonly writable: boolean;
  readonly homeDir?: string | undefined;
}

/**
 * The real path of a mount's source, checked again. The attack: a link or a bind mount with a harmless name that shows `/etc`
 * or `~/.ssh`. Mount the returned path, not the one in the policy.
 */
export async function resolveSource(
  source: HostSource,
  matcher: DenyMatcher,
  mounts?: readonly MountinfoEntry[],
): Promise<string> {
  const { rule, path } = source;
  const real = await realpath(path).catch((cause: unknown) => {
    const message = `${rule}: ${path} does not exist or cannot be reached`;
    throw new CodecellError("policy_refused", message, {
      cause,
      hint: "create it, or correct the policy",
      details: { rule },
    });
  });
  const glob = deniedSource(real, matcher) ?? deniedSource(path, matcher);
  const place = refusedPlace(real, { writable: source.writable, homeDir: homeDirectory(source.homeDir) });
  const why = place ?? (glob === undefined ? undefined : `${real} is denied by ${glob}`);
  if (why !== undefined) {
    const hint =
      real === path ? "mount another directory" : `${path} is a link that leads there; mount another directory`;
    throw new CodecellError("policy_refused", `${rule}: ${why}`, { hint, details: { rule } });
  }
  const bound = await boundFrom(real, source, matcher, mounts ?? (await hostMounts()));
  if (bound === undefined) return real;
  const message = `${rule}: ${path} is a bind mount of another directory: ${bound}`;
  throw new CodecellError("policy_refused", message, { hint: "mount another directory", details: { rule } });
}

/** Why a bind mount at `path` is refused: where its directory comes from is denied. */
export async function boundFrom(
  path: string,
  access: Pick<HostSource, "writable" | "homeDir">,
  matcher: DenyMatcher,
  mounts: readonly MountinfoEntry[],
): Promise<string | undefined> {
  for (const other of otherPaths(path, await mountIdOf(path), mounts)) {
    const place = refusedPlace(other, { writable: access.writable, homeDir: homeDirectory(access.homeDir) });
    const glob = deniedSource(other, matcher);
    const why = place ?? (glob === undefined ? undefined : `${other} is denied by ${glob}`);
    if (why !== undefined) return why;
  }
  return undefined;
}
