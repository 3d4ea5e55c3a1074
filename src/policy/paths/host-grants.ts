import type { PolicyPath } from "../file/problem.ts";
import type { Policy } from "../schema.ts";

/** A host path that a policy opens to a cell. */
export interface HostGrant {
  readonly rule: "fs.workspace" | "fs.deps" | "fs.mounts";
  /** position in the policy */
  readonly path: PolicyPath;
  readonly source: string;
  /** path inside the cell */
  readonly target: string;
  readonly isWritable: boolean;
}

type Files = Pick<Policy, "fs">;

/** Pure: every host path that code in the cell can see. */
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

/** Pure: the host paths that code in the cell can write. Every guard against such writes must use this list. */
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
