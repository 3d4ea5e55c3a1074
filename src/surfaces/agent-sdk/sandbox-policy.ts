import { resolve } from "node:path";
import { mergePolicy, type PolicyChange } from "../../policy/change/merge.ts";
import { guardPolicyFile } from "../../policy/file/guard-policy-file.ts";
import { loadPolicy } from "../../policy/file/load-policy.ts";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import type { Policy, PolicyInput, PolicyOverride } from "../../policy/schema.ts";

/** A policy file with changes for one query, up to the `overrides.ceiling` of the file. */
export interface PolicyFileWithOverride {
  /** name of a policy file, relative to the current directory */
  readonly file: string;
  /** rules that replace those of the file, for this query only */
  readonly override: PolicyOverride;
}

/** What code of a query may do: a policy file, a policy as an object, or a file with an override. */
export type SandboxPolicy = string | PolicyInput | Policy | PolicyFileWithOverride;

/** The policy of one query, and how it differs from the file. */
export interface EffectivePolicy {
  readonly policy: Policy;
  readonly changes: readonly PolicyChange[];
}

/** Reads the policy of a query. An override beyond the ceiling throws `override_refused`. */
export async function effectivePolicy(given: SandboxPolicy = {}): Promise<EffectivePolicy> {
  if (typeof given === "string") return { policy: await fromFile(given), changes: [] };
  if (isFileWithOverride(given)) return mergePolicy(await fromFile(given.file), given.override, "host");
  return { policy: isParsed(given) ? given : parsePolicy(given), changes: [] };
}

async function fromFile(file: string): Promise<Policy> {
  return guardPolicyFile(await loadPolicy(file), { cwd: process.cwd(), file: resolve(file) });
}

function isFileWithOverride(given: object): given is PolicyFileWithOverride {
  return "file" in given && "override" in given;
}

/** What people write has durations and sizes in words; a field in milliseconds is only in what was parsed. */
function isParsed(given: PolicyInput | Policy): given is Policy {
  return given.proc !== undefined && "timeoutMs" in given.proc;
}
