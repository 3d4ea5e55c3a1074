import { CodecellError } from "../../../lib/errors.ts";
import { needOperand } from "./need-operand.ts";

/** A session that is named as an operand or with `--session`; both only if they agree. */
export function sessionOperand(
  command: string,
  option: string | undefined,
  operand: string | undefined,
): string | undefined {
  if (option === undefined || operand === undefined || option === operand) return option ?? operand;
  throw new CodecellError(
    "usage",
    `two sessions are named: ${JSON.stringify(operand)} and --session ${JSON.stringify(option)}`,
    { hint: `\`codecell help ${command}\` shows examples` },
  );
}

/** The session and the files of `SESSION NAME…`; with `--session`, every operand is a file. */
export function sessionAndNames(
  command: string,
  option: string | undefined,
  operands: readonly string[],
): { id: string; names: readonly string[] } {
  if (option !== undefined) return { id: option, names: operands };
  const [id, ...names] = operands;
  return { id: needOperand(command, "SESSION and NAME", names.length === 0 ? undefined : id), names };
}
