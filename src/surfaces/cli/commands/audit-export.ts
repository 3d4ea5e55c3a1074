import { resolve } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { auditDirectory, csvHeader, csvLine, readAudit } from "../../../service/audit/audit-files.ts";
import type { Command, CommandContext } from "../command.ts";
import { entryJson } from "../format/format-audit.ts";
import { jsonText } from "../format/text/json-text.ts";
import { auditFilter, filterOptions } from "../sessions/audit-options.ts";
import { writeToFile, writeToOutput } from "../sessions/write-artifact.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { Interruption } from "../shell/interruption.ts";
import { sessionOperand } from "../shell/session-operand.ts";
import { stateDirOf, stateOptions } from "../shell/state-dir.ts";

const options = {
  format: { type: "string", value: "jsonl|csv", help: "Output format. Default: jsonl." },
  output: {
    type: "string",
    short: "o",
    value: "FILE|-",
    help: "Where to write the export. Default: -, which is stdout.",
  },
  force: { type: "boolean", help: "Overwrite FILE if it exists." },
  ...filterOptions,
  ...stateOptions,
  json: { type: "boolean", help: "Print one JSON object that describes what was written; needs --output FILE." },
  ...commonOptions,
} as const;

export const auditExportCommand: Command = {
  name: "audit export",
  summary: "Export events as JSON lines or CSV, sorted by time across all chains",
  usage: "codecell audit export [SESSION] [--format jsonl|csv] [options]",
  options,
  notes: ["An export cannot be verified. To keep a copy that can, copy the `audit` directory of the state directory."],
  examples: [
    ["codecell audit export > audit.jsonl", "every event"],
    [
      "codecell audit export --format csv --type run.ended --since 24h -o runs.csv",
      "the runs of the last day, for a spreadsheet",
    ],
  ],
  run: runAuditExport,
};

async function runAuditExport(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("audit export", argv, options, 1);
  const session = sessionOperand("audit export", values.session, positionals[0]);
  const format = values.format ?? "jsonl";
  if (format !== "jsonl" && format !== "csv") {
    throw new CodecellError("usage", `unknown format ${JSON.stringify(format)}`, { hint: "use one of: jsonl, csv" });
  }
  const output = values.output === "-" ? undefined : values.output;
  if (values.json && output === undefined) {
    throw new CodecellError("usage", "--json and the export cannot both go to stdout", { hint: "add --output FILE" });
  }
  const counter = { events: 0 };
  const text = exportText(
    auditDirectory(stateDirOf(values, terminal)),
    format,
    auditFilter({ ...values, session }),
    counter,
  );
  using interruption = new Interruption(terminal);
  const { signal } = interruption;
  if (output === undefined) {
    await writeToOutput(text, terminal.stdout, { force: false, signal }).catch((error: unknown) => {
      if (interruption.exitCode === undefined) throw error;
    });
    return interruption.exitCode ?? 0;
  }
  const path = resolve(terminal.cwd, output);
  try {
    const bytes = await writeToFile(text, path, { force: values.force === true, signal, shown: output });
    if (values.json) terminal.stdout.write(jsonText({ events: counter.events, bytes, output: path }));
    else terminal.stdout.write(`wrote ${counter.events} events to ${output}\n`);
    return 0;
  } catch (error) {
    if (interruption.exitCode !== undefined) return interruption.exitCode;
    throw error;
  }
}

async function* exportText(
  dir: string,
  format: "jsonl" | "csv",
  filter: ReturnType<typeof auditFilter>,
  counter: { events: number },
): AsyncGenerator<Uint8Array, void, void> {
  if (format === "csv") yield Buffer.from(csvHeader);
  for await (const entry of readAudit(dir, filter)) {
    counter.events++;
    yield Buffer.from(format === "csv" ? csvLine(entry) : jsonText(entryJson(entry)));
  }
}
