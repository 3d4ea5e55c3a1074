import { encodeRestore } from "../../../service/wire/sessions/snapshot.ts";
import type { Command, CommandContext } from "../command.ts";
import { restoreText } from "../format/format-snapshot.ts";
import { jsonText } from "../format/text/json-text.ts";
import { styleFor } from "../format/text/style.ts";
import { policyOptions } from "../policy/policy-options.ts";
import { withSessions } from "../sessions/with-sessions.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { errorExitCodes } from "../shell/exit-codes.ts";
import { logOptions } from "../shell/log-options.ts";
import { needOperand } from "../shell/need-operand.ts";
import { stateOptions } from "../shell/state-dir.ts";

const options = {
  ...policyOptions,
  ...stateOptions,
  json: { type: "boolean", help: "Print one JSON object." },
  verbose: { type: "boolean", help: "Print the policy, the runner and what the flags changed to stderr." },
  ...logOptions,
  ...commonOptions,
} as const;

export const sessionsRestoreCommand: Command = {
  name: "sessions restore",
  summary: "Test restoring a session: load it into a cell and report what was restored",
  usage: "codecell sessions restore ID [options]",
  options,
  notes: [
    "The saved session is not changed. Use this to test another machine, Python version or runner.",
    "Exit code: 0 if every saved variable was restored, else 1 (4 if the runner does not support it).",
  ],
  examples: [
    ["codecell sessions restore work", "is everything restored?"],
    ["codecell sessions restore work --runner wasm --json", "with another runner, for programs"],
  ],
  run: runSessionsRestore,
};

async function runSessionsRestore(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("sessions restore", argv, options, 1);
  const id = needOperand("sessions restore", "ID", positionals[0]);
  const { stdout, env } = context.terminal;
  return withSessions(values, context, async (sessions) => {
    const session = await sessions.get(id);
    await session.wake();
    const report = session.restored;
    if (values.json) stdout.write(jsonText(encodeRestore(id, sessions.runner, report)));
    else stdout.write(restoreText(id, report, styleFor(stdout, env)));
    if (report?.problem) return errorExitCodes[report.problem.code];
    return report && report.failed.length > 0 ? errorExitCodes.snapshot_damaged : 0;
  });
}
