import { CodecellError } from "../../../lib/errors.ts";
import { denyMatcher } from "../../../policy/paths/deny.ts";
import { writableHostPaths } from "../../../policy/paths/host-grants.ts";
import { isBelow } from "../../../policy/paths/host-path.ts";
import { deniedSource } from "../../../policy/paths/host-source.ts";
import type { Policy } from "../../../policy/schema.ts";

/** The attack: a program rewrites the file that names commands of the host, and the next server runs them. */
export function guardToolsFile(policy: Policy, file: string): void {
  const isWritable = writableHostPaths(policy).some((source) => file === source || isBelow(file, source));
  if (!isWritable || deniedSource(file, denyMatcher(policy.fs.deny)) !== undefined) return;
  throw new CodecellError(
    "policy_refused",
    `a program could rewrite ${file}, and the next server would start what it says`,
    {
      hint: "move the file out of the directories that the policy opens for writing, or hide it with fs.deny",
      details: { rule: "fs.workspace" },
    },
  );
}
