import { CodecellError } from "../../../lib/errors.ts";
import { encodeError } from "../../../service/wire/error.ts";
import type { StoredSessions } from "../../../sessions/storage/stored-sessions.ts";
import type { Command, CommandContext } from "../command.ts";
import { jsonText } from "../format/text/json-text.ts";
import { styleFor } from "../format/text/style.ts";
import { openStored, storedOptions } from "../sessions/open-stored.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { lookingAudit } from "../shell/command-audit.ts";
import { errorExitCodes } from "../shell/exit-codes.ts";
import { needOperand } from "../shell/need-operand.ts";
import { failureText } from "../shell/report-failure.ts";

const options = {
  ...storedOptions,
  json: { type: "boolean", help: "Print one JSON object." },
  ...commonOptions,
} as const;

export const sessionsRmCommand: Command = {
  name: "sessions rm",
  summary: "Delete sessions: variables, history and files",
  usage: "codecell sessions rm ID… [options]",
  options,
  notes: [
    "Does not ask for confirmation. Damaged sessions can be deleted too. A session that is open in another process is refused.",
    "Exit code: 0 if all of them were deleted, else the code of the first failure (1 unknown, 75 in use).",
  ],
  examples: [
    ["codecell sessions rm work", "one session"],
    ["codecell sessions rm a b c --json", "several sessions, with JSON output"],
  ],
  run: runSessionsRm,
};

type Failure = { readonly id: string; readonly error: CodecellError };

async function runSessionsRm(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("sessions rm", argv, options, Number.POSITIVE_INFINITY);
  needOperand("sessions rm", "an ID", positionals[0]);
  await using stored = await openStored(values, terminal);
  await using audit = await lookingAudit(values, terminal);
  const removed: { id: string; files: string }[] = [];
  const failed: Failure[] = [];
  for (const id of new Set(positionals)) {
    const outcome = await remove(stored, id);
    if (outcome instanceof CodecellError) failed.push({ id, error: outcome });
    else {
      removed.push({ id, files: outcome });
      audit.record({ type: "session.closed", session: id, isKept: false, why: "removed" });
    }
  }
  if (values.json) terminal.stdout.write(jsonText(removalJson(removed, failed)));
  else {
    for (const { id, files } of removed) {
      const why = files === "shared" ? "; its files are kept, because another session may use them" : "";
      terminal.stdout.write(`removed ${id}${why}\n`);
    }
    const style = styleFor(terminal.stderr, terminal.env);
    for (const { error } of failed) terminal.stderr.write(failureText(error, style));
  }
  const first = failed[0];
  return first ? errorExitCodes[first.error.code] : 0;
}

/** Returns the error instead of throwing it, so that the other sessions are still removed. */
async function remove(stored: StoredSessions, id: string): Promise<CodecellError | string> {
  try {
    return (await stored.remove(id)).files;
  } catch (error) {
    if (error instanceof CodecellError) return error;
    throw error;
  }
}

function removalJson(removed: readonly { id: string; files: string }[], failed: readonly Failure[]): object {
  return {
    removed: removed.map(({ id, files }) => ({ session_id: id, files })),
    failed: failed.map(({ id, error: { code, message, hint } }) => ({
      session_id: id,
      ...encodeError({ code, message, hint }),
    })),
  };
}
