import { resolve } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { findPolicy, policyFileName } from "../../../policy/file/load-policy.ts";
import type { Terminal } from "../shell/terminal.ts";

/** The policy file of a command: the named one, or the one that was found in the current directory. */
export async function namedPolicyFile(
  operand: string | undefined,
  terminal: Terminal,
): Promise<{ readonly file: string; readonly isNamed: boolean }> {
  const named = operand ?? (terminal.env.CODECELL_POLICY || undefined);
  if (named !== undefined) return { file: resolve(terminal.cwd, named), isNamed: true };
  const found = await findPolicy(terminal.cwd);
  if (found !== undefined) return { file: found, isNamed: false };
  throw new CodecellError("usage", `there is no ${policyFileName} in the current directory`, {
    hint: "name a file, or write one with `codecell policy init`",
  });
}
