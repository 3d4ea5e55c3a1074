import { lstat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { mergePolicy, type PolicyChange } from "../../../policy/change/merge.ts";
import { findPolicy, loadPolicy, policyFileName } from "../../../policy/file/load-policy.ts";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import { writableHostPaths } from "../../../policy/paths/host-grants.ts";
import { isBelow } from "../../../policy/paths/host-path.ts";
import { overrideSchema, type Policy, type PolicyOverride } from "../../../policy/schema.ts";
import type { Terminal } from "../shell/terminal.ts";
import { flagsToOverride } from "./policy-flags.ts";
import type { PolicyFlags } from "./policy-options.ts";

export interface EffectivePolicy {
  readonly policy: Policy;
  /** absent: no file, the tightest policy */
  readonly file: string | undefined;
  /** what the flags changed */
  readonly changes: readonly PolicyChange[];
}

/** The policy of `--policy`, `CODECELL_POLICY` or the current directory, with the flags applied. */
export async function effectivePolicy(flags: PolicyFlags, terminal: Terminal): Promise<EffectivePolicy> {
  const { cwd } = terminal;
  const named = flags.policy ?? (terminal.env.CODECELL_POLICY || undefined);
  const file = named === undefined ? await findPolicy(cwd) : resolve(cwd, named);
  const base = file === undefined ? parsePolicy({}) : await loadPolicy(file);
  const { override, mounts } = flagsToOverride(flags, cwd);
  if (mounts.length > 0) override.fs = { ...override.fs, mounts: [...base.fs.mounts, ...mounts] };
  const { policy, changes } = widenByHand(base, override);
  const guarded = await guardPolicyFile(policy, { cwd, file });
  return { policy: guarded, file, changes };
}

/**
 * Flags are typed by the owner of the host, who could edit the file as well: they are their own ceiling. What the file
 * says about other callers stays in force.
 */
function widenByHand(base: Policy, override: PolicyOverride): { policy: Policy; changes: PolicyChange[] } {
  const parsed = overrideSchema.safeParse(override);
  // what does not parse is reported by the merge, with the rule's name
  const ceiling = parsed.success ? parsed.data : {};
  const merged = mergePolicy({ ...base, overrides: { ceiling } }, override, "host");
  return { policy: { ...merged.policy, overrides: base.overrides }, changes: merged.changes };
}

/**
 * The attack: a program that may write where codecell looks for its policy rewrites it, or leaves one there, and the next
 * call obeys. A file that exists is hidden from the program; a place where one could be left is refused.
 */
async function guardPolicyFile(
  policy: Policy,
  { cwd, file }: { cwd: string; file: string | undefined },
): Promise<Policy> {
  const watched = new Set([resolve(cwd, policyFileName), ...(file === undefined ? [] : [file])]);
  const writable = writableHostPaths(policy);
  const exposed = [...watched].filter((path) => writable.some((source) => path === source || isBelow(path, source)));
  for (const path of exposed) {
    if (await exists(path)) continue;
    throw new CodecellError(
      "policy_refused",
      `the program could leave a ${basename(path)} in ${dirname(path)} for the next call`,
      {
        hint: "`codecell policy init` first (the file is then hidden from the program), or give it another directory",
        details: { rule: "fs.workspace" },
      },
    );
  }
  const names = exposed.map((path) => basename(path));
  if (names.some((name) => !/^[\w.-]+$/.test(name))) {
    throw new CodecellError("policy_refused", "the program could rewrite its own policy file", {
      hint: "move the policy out of the directory that the program may write to",
    });
  }
  return { ...policy, fs: { ...policy.fs, deny: [...new Set([...policy.fs.deny, ...names])] } };
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
