import { CodecellError } from "../../../lib/errors.ts";

/** An operand or option that a command cannot do without. */
export function needOperand(command: string, what: string, given: string | undefined, group = "sessions"): string {
  if (given !== undefined) return given;
  throw new CodecellError("usage", `${command} needs ${what}`, {
    hint: `\`codecell help ${command}\` shows examples; \`codecell ${group} ls\` lists the ${group === "sessions" ? group : `${group}s`}`,
  });
}
