import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import type { Policy } from "../../../policy/schema.ts";
import type { Output } from "./terminal.ts";

/** How much of a program's output a pipe or a file gets, unless the policy or a flag sets a limit. */
const pipeBytes = 64 * 1024 * 1024;

/**
 * The output limit of a run whose output is printed. A pipe or a file gets more than the default of `proc.output`, because a
 * missing part would go unnoticed there. Any other limit of the policy applies to it as well.
 */
export function pipeLimit({ proc }: Policy, stdout: Pick<Output, "isTTY">): { readonly outputBytes?: number } {
  const isDefault = proc.outputBytes === parsePolicy({}).proc.outputBytes;
  return isDefault && !stdout.isTTY ? { outputBytes: pipeBytes } : {};
}
