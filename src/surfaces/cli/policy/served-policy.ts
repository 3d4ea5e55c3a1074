import { dirname } from "node:path";
import { projectDirectory } from "../serve/project-directory.ts";
import type { StateFlags } from "../shell/state-dir.ts";
import type { Terminal } from "../shell/terminal.ts";
import { type EffectivePolicy, effectivePolicy } from "./effective-policy.ts";
import type { PolicyFlags } from "./policy-options.ts";

/**
 * The policy of `codecell mcp`, and its file if there is one. Without a file it is the strictest policy, except that
 * files of the project may be loaded into a variable. The deny globs still apply.
 */
export async function servedPolicy(flags: PolicyFlags & StateFlags, terminal: Terminal): Promise<EffectivePolicy> {
  const effective = await effectivePolicy(flags, terminal);
  const { policy, file } = effective;
  if (file !== undefined) return effective;
  const project = projectDirectory(terminal);
  // A desktop client may start servers in `/`. That is not a project: rlm_load could read the whole machine.
  const load = dirname(project) === project ? [] : [project];
  return { ...effective, policy: { ...policy, fs: { ...policy.fs, load } } };
}
