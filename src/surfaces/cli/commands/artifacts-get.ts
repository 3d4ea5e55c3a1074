import { relative, resolve } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { printable } from "../../../policy/file/problem.ts";
import { auditedFiles } from "../../../sessions/files/audited-files.ts";
import type { Command, CommandContext } from "../command.ts";
import { formatBytes } from "../format/text/format-bytes.ts";
import { jsonText } from "../format/text/json-text.ts";
import { openStored, storedOptions } from "../sessions/open-stored.ts";
import { writeToFile, writeToOutput } from "../sessions/write-artifact.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { lookingAudit } from "../shell/command-audit.ts";
import { Interruption } from "../shell/interruption.ts";
import { needOperand } from "../shell/need-operand.ts";
import { parseCount } from "../shell/parse-count.ts";
import { sessionAndNames } from "../shell/session-operand.ts";

const options = {
  session: { type: "string", value: "ID", help: "The session, if it is not the first operand." },
  output: {
    type: "string",
    short: "o",
    value: "FILE|-",
    help: "Where to write the file. Default: -, which is stdout.",
  },
  start: { type: "string", value: "N", help: "Offset of the first byte. Default: 0." },
  end: { type: "string", value: "N", help: "Offset after the last byte. Default: the end of the file." },
  force: { type: "boolean", help: "Overwrite FILE if it exists; write raw bytes to a terminal." },
  ...storedOptions,
  json: { type: "boolean", help: "Print one JSON object that describes what was written; needs --output FILE." },
  ...commonOptions,
} as const;

export const artifactsGetCommand: Command = {
  name: "artifacts get",
  summary: "Copy a file out of a session's workspace",
  usage: "codecell artifacts get SESSION NAME [options]",
  options,
  notes: [
    "Does not start a cell. On a terminal, control characters in text are escaped and binary files are refused. A pipe gets the raw bytes.",
  ],
  examples: [
    ["codecell artifacts get work plot.png --output plot.png", "save it to a file"],
    ["codecell artifacts get work data.csv | head", "pipe it to another program"],
    ["codecell artifacts get work big.bin --start 0 --end 1024 -o head.bin", "the first KiB"],
  ],
  run: runArtifactsGet,
};

async function runArtifactsGet(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("artifacts get", argv, options, 2);
  const { id, names } = sessionAndNames("artifacts get", values.session, positionals);
  const name = needOperand("artifacts get", "NAME", names[0]);
  if (names[1] !== undefined) throw secondName(names[1], values.session);
  const range = parseRange(values);
  const output = values.output === "-" ? undefined : values.output;
  if (values.json && output === undefined) {
    throw new CodecellError("usage", "--json and the file itself cannot both go to stdout", {
      hint: "add --output FILE",
    });
  }
  const force = values.force === true;
  using interruption = new Interruption(terminal);
  try {
    await using stored = await openStored(values, terminal);
    const record = await stored.record(id);
    await using audit = await lookingAudit(values, terminal);
    await using files = auditedFiles(await stored.files(record), audit, id);
    await using file = await files.stream(name, range);
    const { signal } = interruption;
    if (output === undefined) {
      await writeToOutput(file.data, terminal.stdout, { force, signal });
      return interruption.exitCode ?? 0;
    }
    const path = resolve(terminal.cwd, output);
    const bytes = await writeToFile(file.data, path, { force, signal, shown: output });
    if (values.json) terminal.stdout.write(jsonText({ name, size: file.size, bytes, output: path }));
    else terminal.stdout.write(`wrote ${printable(relative(terminal.cwd, path), 1024)} (${formatBytes(bytes)})\n`);
    return 0;
  } catch (error) {
    if (interruption.exitCode !== undefined) return interruption.exitCode;
    throw error;
  }
}

/** With `--session`, the first operand is already the file. */
function secondName(extra: string, session: string | undefined): CodecellError {
  return new CodecellError("usage", `unexpected argument ${JSON.stringify(extra)}`, {
    hint: `write the file with --output ${printable(extra)}, or leave out --session ${printable(session ?? "")}`,
  });
}

function parseRange(flags: { start?: string | undefined; end?: string | undefined }): { start: number; end?: number } {
  const start = flags.start === undefined ? 0 : parseCount("--start", flags.start);
  if (flags.end === undefined) return { start };
  return { start, end: parseCount("--end", flags.end, { min: start }) };
}
