import { dirname } from "node:path";
import { projectDirectory } from "../serve/project-directory.ts";
import type { Terminal } from "../shell/terminal.ts";
import { type EffectivePolicy, effectivePolicy } from "./effective-policy.ts";
import type { PolicyFlags } from "./policy-options.ts";

/**
 * The policy that `codecell mcp` serves under, and its file if there is one. Where nobody wrote one, it is the tightest,
 * but files of the project may be loaded into a variable; the deny globs hold there as everywhere.
 */
export async function servedPolicy(flags: PolicyFlags, terminal: Terminal): Promise<EffectivePolicy> {
  const effective = await effectivePolicy(flags, terminal);
  const { policy, file } = effective;
  if (file !== undefined) return effective;
  const project = projectDirectory(terminal);
  // A desktop client may start servers in `/`: that is no project, and the whole machine would be open to rlm_load.
  const load = dirname(project) === project ? [] : [project];
  return { ...effective, policy: { ...policy, fs: { ...policy.fs, load } } };
}
