import { resolve } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import { mergePolicy, type PolicyChange } from "../../policy/change/merge.ts";
import { guardPolicyFile } from "../../policy/file/guard-policy-file.ts";
import { findPolicy, loadPolicy, policyFileName } from "../../policy/file/load-policy.ts";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import type { Policy, PolicyInput, PolicyOverride } from "../../policy/schema.ts";

/** A policy file with changes for one query, up to the `overrides.ceiling` of the file. */
export interface PolicyFileWithOverride {
  /** name of a policy file, relative to the current directory; default: its `sandbox.policy.yaml`, which must exist */
  readonly file?: string;
  /** rules that replace those of the file, for this query only */
  readonly override: PolicyOverride;
}

/** What code of a query may do: a policy file, a whole policy as an object, or changes to a file. */
export type SandboxPolicy = string | PolicyInput | Policy | PolicyFileWithOverride;

/** The policy of one query, and how it differs from the file. */
export interface EffectivePolicy {
  readonly policy: Policy;
  readonly changes: readonly PolicyChange[];
}

/** Reads the policy of a query. An override beyond the ceiling throws `override_refused`. */
export async function effectivePolicy(
  given: SandboxPolicy = {},
  cwd: string = process.cwd(),
): Promise<EffectivePolicy> {
  if (typeof given === "string") return fromFile(resolve(cwd, given), {}, { cwd });
  if (!isFileWithOverride(given)) return { policy: isParsed(given) ? given : parsePolicy(given), changes: [] };
  const { file, override } = given;
  if (file !== undefined) return fromFile(resolve(cwd, file), override, { cwd });
  return fromFile(await foundFile(cwd), override, { cwd, mustBeOwn: true });
}

async function fromFile(
  file: string,
  override: PolicyOverride,
  { cwd, mustBeOwn = false }: { cwd: string; mustBeOwn?: boolean },
): Promise<EffectivePolicy> {
  const { policy, changes } = mergePolicy(await loadPolicy(file, { mustBeOwn }), override, "host");
  // after the override, which may open a directory with the policy file in it
  return { policy: await guardPolicyFile(policy, { cwd, file }), changes };
}

async function foundFile(cwd: string): Promise<string> {
  const found = await findPolicy(cwd);
  if (found !== undefined) return found;
  throw new CodecellError(
    "usage",
    `sandboxPolicy: there is no ${policyFileName} in ${cwd} that override could change`,
    {
      hint: "pass { file, override }, or pass the rules themselves as a whole policy",
    },
  );
}

function isFileWithOverride(given: PolicyInput | Policy | PolicyFileWithOverride): given is PolicyFileWithOverride {
  if (typeof given !== "object" || given === null) return false; // the parser knows what to say
  if (!("file" in given || "override" in given)) return false;
  const others = Object.keys(given).filter((name) => name !== "file" && name !== "override");
  if (others.length > 0) {
    throw new CodecellError("usage", `sandboxPolicy: ${others.join(", ")} cannot stand beside file and override`, {
      hint: "move these rules into override",
    });
  }
  if ("override" in given) return true;
  throw new CodecellError("usage", "sandboxPolicy: { file } has no override", {
    hint: "add an override, or pass the name of the file alone",
  });
}

/** What people write has durations and sizes in words; a field in milliseconds is only in what was parsed. */
function isParsed(given: PolicyInput | Policy): given is Policy {
  return "timeoutMs" in Object(given?.proc);
}
