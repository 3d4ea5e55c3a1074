import { CodecellError } from "../../../lib/errors.ts";
import { printable } from "../../../policy/file/problem.ts";
import { encodeError } from "../../../service/wire/error.ts";
import { auditedFiles } from "../../../sessions/files/audited-files.ts";
import type { Command, CommandContext } from "../command.ts";
import { jsonText } from "../format/text/json-text.ts";
import { styleFor } from "../format/text/style.ts";
import { openStored, storedOptions } from "../sessions/open-stored.ts";
import type { WorkspaceFiles } from "../sessions/session-types.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { lookingAudit } from "../shell/command-audit.ts";
import { errorExitCodes } from "../shell/exit-codes.ts";
import { needOperand } from "../shell/need-operand.ts";
import { failureText } from "../shell/report-failure.ts";
import { sessionAndNames } from "../shell/session-operand.ts";

const options = {
  session: { type: "string", value: "ID", help: "The session, if it is not the first operand." },
  ...storedOptions,
  json: { type: "boolean", help: "Print one JSON object." },
  ...commonOptions,
} as const;

export const artifactsRmCommand: Command = {
  name: "artifacts rm",
  summary: "Delete files from a session's workspace",
  usage: "codecell artifacts rm SESSION NAME… [options]",
  options,
  notes: [
    "Does not start a cell and does not ask for confirmation. Deletes files and links, never directories. Works while the session is open.",
    "Exit code: 0 if all of them were deleted, else the code of the first failure.",
  ],
  examples: [
    ["codecell artifacts rm work big.bin", "make room when the workspace is over `proc.disk`"],
    ["codecell artifacts rm work a.csv plots/b.png --json", "several files, with JSON output"],
  ],
  run: runArtifactsRm,
};

type Failure = { readonly name: string; readonly error: CodecellError };

async function runArtifactsRm(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("artifacts rm", argv, options, Number.POSITIVE_INFINITY);
  const { id, names } = sessionAndNames("artifacts rm", values.session, positionals);
  needOperand("artifacts rm", "a NAME", names[0]);
  await using stored = await openStored(values, terminal);
  const record = await stored.record(id);
  await using audit = await lookingAudit(values, terminal);
  await using files = auditedFiles(await stored.files(record), audit, id);
  const removed: string[] = [];
  const failed: Failure[] = [];
  for (const name of new Set(names)) {
    const error = await remove(files, name);
    if (error) failed.push({ name, error });
    else removed.push(name);
  }
  if (values.json) {
    const failures = failed.map(({ name, error: { code, message, hint } }) => {
      return { name, ...encodeError({ code, message, hint }) };
    });
    terminal.stdout.write(jsonText({ session_id: id, removed, failed: failures }));
  } else {
    for (const name of removed) terminal.stdout.write(`removed ${printable(name, 1024)}\n`);
    const style = styleFor(terminal.stderr, terminal.env);
    for (const { error } of failed) terminal.stderr.write(failureText(error, style));
  }
  const first = failed[0];
  return first ? errorExitCodes[first.error.code] : 0;
}

/** Returns the error instead of throwing it, so that the other files are still removed. */
async function remove(files: WorkspaceFiles, name: string): Promise<CodecellError | undefined> {
  try {
    await files.remove(name);
    return undefined;
  } catch (error) {
    if (error instanceof CodecellError) return error;
    throw error;
  }
}
