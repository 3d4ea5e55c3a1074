import { auditDirectory, type ChainHead, verifyAudit } from "../../../service/audit/audit-files.ts";
import { reportJson } from "../../../service/audit/report-json.ts";
import type { Command, CommandContext } from "../command.ts";
import { reportText } from "../format/format-audit.ts";
import { jsonText } from "../format/text/json-text.ts";
import { styleFor } from "../format/text/style.ts";
import { readHeads } from "../sessions/audit-heads.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { databaseOptions, databaseUrlOf } from "../shell/database-options.ts";
import { Interruption } from "../shell/interruption.ts";
import { stateDirOf, stateOptions } from "../shell/state-dir.ts";

const options = {
  head: {
    type: "string",
    multiple: true,
    value: "HEAD",
    help: "A head that `audit head` printed earlier; its line must still exist. Repeatable.",
  },
  heads: {
    type: "string",
    value: "FILE",
    help: "Read heads from a file, one per line, as `audit head` prints them.",
  },
  ...databaseOptions,
  ...stateOptions,
  json: { type: "boolean", help: "Print one JSON object." },
  ...commonOptions,
} as const;

export const auditVerifyCommand: Command = {
  name: "audit verify",
  summary: "Find audit lines that were edited, removed, duplicated or moved",
  usage: "codecell audit verify [--head HEAD] [--heads FILE] [options]",
  options,
  notes: [
    "Works offline and starts no process. Exit code: 0 if the audit is intact; 1 if it was changed or damaged, or if there is no audit; 2 for a usage error. Each problem names the file and the line.",
    "A crash can leave a partial line. The next process seals it, and it is then counted and reported as sound. Until then it is a problem.",
    "Anyone who can write to the state directory can rewrite the whole audit. Only heads that are kept elsewhere reveal that. `codecell serve --database` keeps them in the database, every 10 seconds: with --database they are checked too.",
  ],
  examples: [
    ["codecell audit verify", "check the whole audit"],
    ["codecell audit verify --heads yesterday.txt", "also check that everything that existed yesterday still exists"],
    [
      "codecell audit verify --database postgres://codecell@db/codecell?sslmode=verify-full",
      "also check what this gateway told the database",
    ],
    ["codecell audit verify --json", "for programs, with the current heads"],
  ],
  run: runAuditVerify,
};

async function runAuditVerify(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values } = parseArguments("audit verify", argv, options, 0);
  using interruption = new Interruption(terminal);
  const stateDir = stateDirOf(values, terminal);
  const dir = auditDirectory(stateDir);
  const url = await databaseUrlOf(values, terminal);
  const heads = [
    ...(await readHeads(values, terminal)),
    ...(url === undefined ? [] : await sharedHeads(url, stateDir)),
  ];
  const report = await verifyAudit(dir, { heads });
  const { stdout, env } = terminal;
  stdout.write(values.json ? jsonText(reportJson(report)) : reportText(report, styleFor(stdout, env)));
  // The attack: delete the whole audit, so that there is nothing left to fail the check.
  const isSound = report.isSound && report.chains.length > 0;
  return interruption.exitCode ?? (isSound ? 0 : 1);
}

/** What the gateway of this state directory told its database. */
async function sharedHeads(url: string, stateDir: string): Promise<readonly ChainHead[]> {
  const { openDatabase } = await import("../../../store/postgres/open-database.ts");
  const { auditPlace, keptHeads } = await import("../../../service/audit/kept-heads.ts");
  await using database = await openDatabase(url, { connections: 1 });
  return await keptHeads(auditDirectory(stateDir), auditPlace(stateDir), database);
}
