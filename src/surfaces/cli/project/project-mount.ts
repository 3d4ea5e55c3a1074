import type { PolicyOverride } from "../../../policy/schema.ts";

/** Where `--project` is in the cell. */
export const projectTarget = "/project";

type Mount = NonNullable<NonNullable<PolicyOverride["fs"]>["mounts"]>[number];

/** A mount like any other, so the deny globs hide the same files in it. */
export function projectMount(source: string): Mount {
  return { source, target: projectTarget, mode: "ro" };
}
