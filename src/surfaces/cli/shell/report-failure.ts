import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { diskFailure } from "../../../lib/files/disk-failure.ts";
import { encodeError } from "../../../service/wire/error.ts";
import { jsonText } from "../format/text/json-text.ts";
import { safeText } from "../format/text/safe-text.ts";
import { type Style, styleFor } from "../format/text/style.ts";
import { errorExitCodes } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

/** Reports an error of codecell, for people or as JSON, and returns the exit code. */
export function reportFailure(
  thrown: unknown,
  terminal: Terminal,
  options: { json: boolean; verbose: boolean },
): number {
  const error = diskFailure(thrown) ?? thrown;
  if (options.json) terminal.stdout.write(failureJson(error));
  else terminal.stderr.write(failureText(error, styleFor(terminal.stderr, terminal.env), options.verbose));
  return error instanceof CodecellError ? errorExitCodes[error.code] : errorExitCodes.internal;
}

export function failureText(error: unknown, style: Style, verbose = false): string {
  const isKnown = error instanceof CodecellError && error.code !== "internal";
  const message = isKnown ? error.message : `internal error: ${messageOf(error)}`;
  const lines = [`${style.red("codecell:")} ${safeText(message)}`];
  const hint = error instanceof CodecellError ? hintOf(error) : undefined;
  if (hint !== undefined) lines.push(`${style.dim("hint:")} ${safeText(hint)}`);
  if (!isKnown && !verbose)
    lines.push(`${style.dim("hint:")} this is a bug in codecell; --verbose shows the stack trace`);
  if (verbose && error instanceof Error) lines.push(style.dim(safeText(error.stack ?? "")));
  if (verbose && error instanceof Error && error.cause !== undefined) {
    lines.push(style.dim(`caused by: ${safeText(messageOf(error.cause))}`));
  }
  return `${lines.join("\n")}\n`;
}

export function failureJson(error: unknown): string {
  const known = error instanceof CodecellError ? error : new CodecellError("internal", messageOf(error));
  const { code, message, details } = known;
  return jsonText(encodeError({ code, message, hint: hintOf(known), details }));
}

/** Hints that make sense only on the command line. */
function hintOf({ code, hint }: CodecellError): string | undefined {
  if (hint) return hint;
  return code === "session_unknown" ? "`codecell sessions ls` lists them" : undefined;
}
