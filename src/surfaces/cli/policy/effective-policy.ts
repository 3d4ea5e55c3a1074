import { resolve } from "node:path";
import { mergePolicy, onlyRunner, type PolicyChange } from "../../../policy/change/merge.ts";
import { guardPolicyFile } from "../../../policy/file/guard-policy-file.ts";
import { findPolicy, type LoadPolicyOptions, loadPolicy } from "../../../policy/file/load-policy.ts";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import { refusePlanted } from "../../../policy/file/policy-trust.ts";
import { overrideSchema, type Policy, type PolicyOverride } from "../../../policy/schema.ts";
import { projectMount } from "../project/project-mount.ts";
import { type StateFlags, stateDirOf } from "../shell/state-dir.ts";
import type { Terminal } from "../shell/terminal.ts";
import { denyNamedCredentials } from "./named-credentials.ts";
import { flagsToOverride } from "./policy-flags.ts";
import type { PolicyFlags } from "./policy-options.ts";

export interface EffectivePolicy {
  readonly policy: Policy;
  /** undefined: there is no file, and the strictest policy applies */
  readonly file: string | undefined;
  /** what the flags changed */
  readonly changes: readonly PolicyChange[];
}

/** The policy of `--policy`, `CODECELL_POLICY` or the current directory, with the flags applied. `llm` adds models, and sets the rest. */
export async function effectivePolicy(
  flags: PolicyFlags & StateFlags,
  terminal: Terminal,
  llm?: PolicyOverride["llm"],
): Promise<EffectivePolicy> {
  const { cwd } = terminal;
  const named = flags.policy ?? (terminal.env.CODECELL_POLICY || undefined);
  const file = named === undefined ? await findPolicy(cwd) : resolve(cwd, named);
  const base = file === undefined ? parsePolicy({}) : await loadPolicy(file, named === undefined ? found() : {});
  function found(): LoadPolicyOptions {
    const stateDirs = [...new Set([stateDirOf(flags, terminal), stateDirOf({}, terminal)])];
    return { mustBeOwn: true, checkText: (text) => refusePlanted(file ?? "", text, stateDirs) };
  }
  const { override, mounts } = flagsToOverride(flags, cwd);
  const runner = override.isolation?.runner ?? base.isolation.runner;
  if (flags.projectDir !== undefined && runner !== "wasm") mounts.push(projectMount(flags.projectDir));
  if (mounts.length > 0) override.fs = { ...override.fs, mounts: [...base.fs.mounts, ...mounts] };
  if (llm) override.llm = { ...llm, models: [...new Set([...base.llm.models, ...(llm.models ?? [])])] };
  const { policy, changes } = widenByHand(base, override);
  const guarded = await guardPolicyFile(await denyNamedCredentials(policy, terminal), { cwd, file });
  return { policy: guarded, file, changes };
}

/**
 * The owner of the host types the flags and could edit the file as well, so flags have no ceiling. The file's ceiling
 * for other callers stays in force.
 */
function widenByHand(base: Policy, override: PolicyOverride): { policy: Policy; changes: PolicyChange[] } {
  if (Object.keys(override).length === 0) return { policy: base, changes: [] };
  // If it does not parse, the merge below reports it with the rule's name.
  const ceiling = onlyRunner(override) ?? overrideSchema().safeParse(override).data ?? {};
  const merged = mergePolicy({ ...base, overrides: { ceiling } }, override, "host");
  return { policy: { ...merged.policy, overrides: base.overrides }, changes: merged.changes };
}
