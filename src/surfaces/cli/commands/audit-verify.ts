import { auditDirectory, verifyAudit } from "../../../service/audit/audit-files.ts";
import { reportJson } from "../../../service/audit/report-json.ts";
import type { Command, CommandContext } from "../command.ts";
import { reportText } from "../format/format-audit.ts";
import { jsonText } from "../format/json-text.ts";
import { styleFor } from "../format/style.ts";
import { readHeads } from "../sessions/audit-heads.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { Interruption } from "../shell/interruption.ts";
import { stateDirOf, stateOptions } from "../shell/state-dir.ts";

const options = {
  head: {
    type: "string",
    multiple: true,
    value: "HEAD",
    help: "A head that was printed before; its line must still be there. Repeatable.",
  },
  heads: {
    type: "string",
    value: "FILE",
    help: "The same from a file, one head per line, as `audit head` prints them.",
  },
  ...stateOptions,
  json: { type: "boolean", help: "Print one JSON object." },
  ...commonOptions,
} as const;

export const auditVerifyCommand: Command = {
  name: "audit verify",
  summary: "Find every line of the audit that was edited, removed, repeated or moved",
  usage: "codecell audit verify [--head HEAD] [--heads FILE] [options]",
  options,
  notes: [
    "Needs no network and starts nothing. Exit code: 0 every line is as it was written; 1 not, or there is nothing to verify; 2 the command was not understood. Each problem names file and line.",
    "What a crash has torn and the next process has sealed is sound and is counted. What nobody has sealed yet is a problem until then.",
    "Whoever can write the state directory can write all of it anew. Heads that are kept elsewhere are what finds that.",
  ],
  examples: [
    ["codecell audit verify", "check the whole audit"],
    ["codecell audit verify --heads yesterday.txt", "also that nothing is missing that was there yesterday"],
    ["codecell audit verify --json", "for programs, with the heads of now"],
  ],
  run: runAuditVerify,
};

async function runAuditVerify(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values } = parseArguments("audit verify", argv, options, 0);
  using interruption = new Interruption(terminal);
  const heads = await readHeads(values, terminal);
  const dir = auditDirectory(stateDirOf(values, terminal));
  const report = await verifyAudit(dir, { heads });
  const { stdout, env } = terminal;
  stdout.write(values.json ? jsonText(reportJson(report)) : reportText(report, styleFor(stdout, env)));
  // The attack: removing everything, for a check that is content with nothing.
  const isSound = report.isSound && report.chains.length > 0;
  return interruption.exitCode ?? (isSound ? 0 : 1);
}
