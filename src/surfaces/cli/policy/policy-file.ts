import { resolve } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { findPolicy, policyFileName } from "../../../policy/file/load-policy.ts";
import type { Terminal } from "../shell/terminal.ts";

/** The policy file of a command: the named one, or the one in the current directory. */
export async function namedPolicyFile(operand: string | undefined, terminal: Terminal): Promise<string> {
  const named = operand ?? (terminal.env.CODECELL_POLICY || undefined);
  if (named !== undefined) return resolve(terminal.cwd, named);
  const found = await findPolicy(terminal.cwd);
  if (found !== undefined) return found;
  throw new CodecellError("usage", `there is no ${policyFileName} in the current directory`, {
    hint: "name a file, or write one with `codecell policy init`",
  });
}
