import { realpath } from "node:fs/promises";
import { CodecellError } from "../../lib/errors.ts";
import type { DenyMatcher } from "./deny.ts";
import { homeDirectory, refusedPlace } from "./host-path.ts";

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
 * The real path of a mount's source, checked again. The attack: a link with a harmless name that leads to `/etc` or `~/.ssh`.
 * Mount the returned path, not the one in the policy.
 */
export async function resolveSource(source: HostSource, matcher: DenyMatcher): Promise<string> {
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
  if (why === undefined) return real;
  const hint =
    real === path ? "mount another directory" : `${path} is a link that leads there; mount another directory`;
  throw new CodecellError("policy_refused", `${rule}: ${why}`, { hint, details: { rule } });
}
