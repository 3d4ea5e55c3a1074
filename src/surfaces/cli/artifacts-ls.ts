import { commonOptions, parseArguments } from "./arguments.ts";
import type { Command, CommandContext } from "./command.ts";
import { filesJson, filesRemarks, filesTable } from "./format-files.ts";
import { Interruption } from "./interruption.ts";
import { jsonText } from "./json-text.ts";
import { needOperand } from "./need-operand.ts";
import { parseCount } from "./parse-count.ts";
import { safeText } from "./safe-text.ts";
import { openStored, stateOptions } from "./state-dir.ts";
import { styleFor } from "./style.ts";

const options = {
  session: { type: "string", value: "ID", help: "The session whose files are listed." },
  after: { type: "string", value: "NAME", help: "Go on after this name, where the page before ended." },
  limit: { type: "string", value: "N", help: "Files per page, at most 10000. Default: 1000." },
  ...stateOptions,
  json: { type: "boolean", help: "Print one JSON object." },
  ...commonOptions,
} as const;

export const artifactsLsCommand: Command = {
  name: "artifacts ls",
  summary: "List the files in a session's workspace",
  usage: "codecell artifacts ls --session ID [options]",
  options,
  notes: ["No cell is started. Links and special files are neither followed nor listed."],
  examples: [
    ["codecell artifacts ls --session work", "what its programs left in /workspace"],
    ["codecell artifacts ls --session work --limit 100 --after plots/9.png", "the page after that file"],
  ],
  run: runArtifactsLs,
};

async function runArtifactsLs(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values } = parseArguments("artifacts ls", argv, options, 0);
  const id = needOperand("artifacts ls", "--session ID", values.session);
  const limit = values.limit === undefined ? 1000 : parseCount("--limit", values.limit, { min: 1, max: 10_000 });
  using interruption = new Interruption(terminal);
  const stored = await openStored(values, terminal);
  await using files = await stored.files(await stored.record(id));
  const list = await files.list({ limit, ...(values.after === undefined ? {} : { after: values.after }) });
  const { stdout, stderr, env } = terminal;
  if (values.json) stdout.write(jsonText(filesJson(list)));
  else {
    stdout.write(
      list.files.length === 0 ? "no files\n" : filesTable(list.files, styleFor(stdout, env), stdout.columns),
    );
    for (const remark of filesRemarks(list)) stderr.write(`codecell: ${safeText(remark)}\n`);
  }
  return interruption.exitCode ?? 0;
}
