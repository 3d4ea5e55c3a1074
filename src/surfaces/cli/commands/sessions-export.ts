import { extname, relative, resolve } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { printable } from "../../../policy/file/problem.ts";
import { type ExportFormat, exportFormats, exportHistory } from "../../../service/notebook/export-history.ts";
import type { Command, CommandContext } from "../command.ts";
import { jsonText } from "../format/text/json-text.ts";
import { plural } from "../format/text/plural.ts";
import { openStored, storedOptions } from "../sessions/open-stored.ts";
import { writeToFile, writeToOutput } from "../sessions/write-artifact.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { Interruption } from "../shell/interruption.ts";
import { needOperand } from "../shell/need-operand.ts";
import { parseCount } from "../shell/parse-count.ts";

const formats = exportFormats;

const options = {
  format: {
    type: "string",
    value: formats.join("|"),
    help: "A notebook, a Python script, or JSON. Default: by the extension of --output, else ipynb.",
  },
  output: { type: "string", short: "o", value: "FILE|-", help: "Where to write it. Default: -, which is stdout." },
  last: { type: "string", value: "N", help: "Export only the last N runs." },
  force: { type: "boolean", help: "Overwrite FILE if it exists." },
  ...storedOptions,
  json: { type: "boolean", help: "Print one JSON object that describes what was written; needs --output FILE." },
  ...commonOptions,
} as const;

export const sessionsExportCommand: Command = {
  name: "sessions export",
  summary: "Write a session's runs and their outputs as a notebook, a script or JSON",
  usage: "codecell sessions export ID [options]",
  options,
  notes: [
    "Does not start a cell. The outputs of the latest runs are kept with the session, up to a limit; older runs may have only their code.",
    "In a Python script, outputs are comments, and so is code that failed or that is not Python.",
  ],
  examples: [
    ["codecell sessions export work --output work.ipynb", "as a notebook, for Jupyter"],
    ["codecell sessions export work --format py", "print it as a script"],
    ["codecell sessions export work --format json --last 1", "the last run, for programs"],
  ],
  run: runSessionsExport,
};

async function runSessionsExport(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("sessions export", argv, options, 1);
  const id = needOperand("sessions export", "ID", positionals[0]);
  const output = values.output === "-" ? undefined : values.output;
  const format = formatOf(values.format, output);
  const limit = values.last === undefined ? Number.MAX_SAFE_INTEGER : parseCount("--last", values.last, { min: 1 });
  if (values.json && output === undefined) {
    throw new CodecellError("usage", "--json and the export itself cannot both go to stdout", {
      hint: "add --output FILE",
    });
  }
  using interruption = new Interruption(terminal);
  await using stored = await openStored(values, terminal);
  const runs = await stored.runs(id, limit);
  const text = await exportHistory(id, runs, format);
  const how = { force: values.force === true, signal: interruption.signal };
  if (output === undefined) {
    await writeToOutput(oneChunk(text), terminal.stdout, { ...how, force: false });
    return interruption.exitCode ?? 0;
  }
  const path = resolve(terminal.cwd, output);
  const bytes = await writeToFile(oneChunk(text), path, { ...how, shown: output });
  if (values.json) terminal.stdout.write(jsonText({ session_id: id, format, runs: runs.length, bytes, output: path }));
  else
    terminal.stdout.write(`wrote ${printable(relative(terminal.cwd, path), 1024)} (${plural(runs.length, "run")})\n`);
  return interruption.exitCode ?? 0;
}

function formatOf(given: string | undefined, output: string | undefined): ExportFormat {
  const name = given ?? (output === undefined ? "ipynb" : extname(output).slice(1).toLowerCase());
  const format = formats.find((one) => one === name);
  if (format !== undefined) return format;
  const what =
    given === undefined
      ? `the format of ${JSON.stringify(output)} is unknown`
      : `unknown format ${JSON.stringify(given)}`;
  throw new CodecellError("usage", what, { hint: `use --format with one of: ${formats.join(", ")}` });
}

async function* oneChunk(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
