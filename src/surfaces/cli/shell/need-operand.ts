import { CodecellError } from "../../../lib/errors.ts";

/** Throws a usage error if a required operand or option is missing. */
export function needOperand(command: string, what: string, given: string | undefined, group = "sessions"): string {
  if (given !== undefined) return given;
  throw new CodecellError("usage", `\`codecell ${command}\` needs ${what}`, {
    hint: `\`codecell help ${command}\` shows examples; \`codecell ${group} ls\` lists the ${group === "sessions" ? group : `${group}s`}`,
  });
}
