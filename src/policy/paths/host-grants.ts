import type { PolicyPath } from "../file/problem.ts";
import type { Policy } from "../schema.ts";

/** A path of the host that a policy gives to a cell. */
export interface HostGrant {
  readonly rule: "fs.workspace" | "fs.deps" | "fs.mounts";
  /** where the policy names it */
  readonly path: PolicyPath;
  readonly source: string;
  /** where the cell sees it */
  readonly target: string;
  readonly isWritable: boolean;
}

type Files = Pick<Policy, "fs">;

/** Pure: every path of the host that code in the cell can see, as the policy names it. */
export function hostGrants({ fs }: Files): HostGrant[] {
  const { workspace, deps } = fs;
  return [
    ...(workspace === undefined ? [] : [grant("fs.workspace", ["fs", "workspace"], workspace, "/workspace", true)]),
    ...(deps === undefined ? [] : [grant("fs.deps", ["fs", "deps"], deps, "/deps", false)]),
    ...fs.mounts.map(({ source, target, mode }, index) =>
      grant("fs.mounts", ["fs", "mounts", index, "source"], source, target, mode !== "ro"),
    ),
  ];
}

/** Pure: the paths of the host that code in the cell can write. Every guard against such code asks this, and nothing else. */
export function writableHostPaths(policy: Files): string[] {
  return hostGrants(policy)
    .filter(({ isWritable }) => isWritable)
    .map(({ source }) => source);
}

function grant(
  rule: HostGrant["rule"],
  path: PolicyPath,
  source: string,
  target: string,
  isWritable: boolean,
): HostGrant {
  return { rule, path, source, target, isWritable };
}
