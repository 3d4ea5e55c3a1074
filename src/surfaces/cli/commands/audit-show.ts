import { CodecellError } from "../../../lib/errors.ts";
import { auditDirectory, readAudit } from "../../../service/audit/audit-files.ts";
import type { Command, CommandContext } from "../command.ts";
import { entryJson, entryText } from "../format/format-audit.ts";
import { jsonText } from "../format/text/json-text.ts";
import { styleFor } from "../format/text/style.ts";
import { auditFilter, filterOptions } from "../sessions/audit-options.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { Interruption } from "../shell/interruption.ts";
import { needOperand } from "../shell/need-operand.ts";
import { sessionOperand } from "../shell/session-operand.ts";
import { stateDirOf, stateOptions } from "../shell/state-dir.ts";

const options = {
  ...filterOptions,
  session: { ...filterOptions.session, help: "The same as SESSION." },
  ...stateOptions,
  json: { type: "boolean", help: "Print one JSON object per line." },
  ...commonOptions,
} as const;

export const auditShowCommand: Command = {
  name: "audit show",
  summary: "Show every recorded event of a session, with its code",
  usage: "codecell audit show SESSION [--run N] [options]",
  options,
  examples: [
    ["codecell audit show work", "every event of the session work"],
    ["codecell audit show work --run 3", "one run: its code, outcome, resource usage and changes"],
  ],
  run: runAuditShow,
};

async function runAuditShow(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("audit show", argv, options, 1);
  const named = sessionOperand("audit show", values.session, positionals[0]);
  const session = needOperand("audit show", "SESSION", named);
  const filter = { ...auditFilter(values), session };
  const { stdout, env } = terminal;
  const style = styleFor(stdout, env);
  using interruption = new Interruption(terminal);
  let count = 0;
  for await (const entry of readAudit(auditDirectory(stateDirOf(values, terminal)), filter)) {
    if (interruption.exitCode !== undefined) return interruption.exitCode;
    count++;
    stdout.write(values.json ? jsonText(entryJson(entry)) : entryText(entry, style));
  }
  if (count > 0) return 0;
  throw new CodecellError(
    "session_unknown",
    `the audit has no matching events for session ${JSON.stringify(session)}`,
    {
      hint: "`codecell audit tail` shows the latest events; use --state-dir to read another state directory",
    },
  );
}
