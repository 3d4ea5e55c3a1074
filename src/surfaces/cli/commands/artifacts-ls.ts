import { describeArtifacts } from "../../../service/files/describe-file.ts";
import type { DownloadUrl } from "../../../service/wire/artifact.ts";
import { encodeFileList } from "../../../service/wire/file.ts";
import type { Command, CommandContext } from "../command.ts";
import { filesRemarks, filesTable } from "../format/format-files.ts";
import { jsonText } from "../format/text/json-text.ts";
import { safeText } from "../format/text/safe-text.ts";
import { styleFor } from "../format/text/style.ts";
import { linksTo } from "../sessions/links-to.ts";
import { openStored, storedOptions, storedUrlOf } from "../sessions/open-stored.ts";
import type { FileList, WorkspaceFiles } from "../sessions/session-types.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { Interruption } from "../shell/interruption.ts";
import { needOperand } from "../shell/need-operand.ts";
import { parseCount } from "../shell/parse-count.ts";
import { sessionOperand } from "../shell/session-operand.ts";

const options = {
  session: { type: "string", value: "ID", help: "The same as SESSION." },
  after: { type: "string", value: "NAME", help: "Continue after this name, the last one of the previous page." },
  limit: { type: "string", value: "N", help: "Files per page, at most 10000. Default: 1000." },
  ...storedOptions,
  json: { type: "boolean", help: "Print one JSON object." },
  ...commonOptions,
} as const;

export const artifactsLsCommand: Command = {
  name: "artifacts ls",
  summary: "List the files in a session's workspace",
  usage: "codecell artifacts ls SESSION [options]",
  options,
  notes: ["Does not start a cell. Links and special files are not followed and not listed."],
  examples: [
    ["codecell artifacts ls work", "the files that its programs left in /workspace"],
    ["codecell artifacts ls work --limit 100 --after plots/9.png", "the page after that file"],
  ],
  run: runArtifactsLs,
};

async function runArtifactsLs(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("artifacts ls", argv, options, 1);
  const named = sessionOperand("artifacts ls", values.session, positionals[0]);
  const id = needOperand("artifacts ls", "SESSION", named);
  const limit = values.limit === undefined ? 1000 : parseCount("--limit", values.limit, { min: 1, max: 10_000 });
  using interruption = new Interruption(terminal);
  await using stored = await openStored(values, terminal);
  const record = await stored.record(id);
  await using files = await stored.files(record);
  const list = await files.list({ limit, ...(values.after === undefined ? {} : { after: values.after }) });
  const { stdout, stderr, env } = terminal;
  if (values.json) {
    // Links are to files of this machine.
    const isShared = (await storedUrlOf(values, terminal)) !== undefined;
    const downloadUrl = isShared ? undefined : await linksTo(record, values, terminal);
    stdout.write(jsonText(encodeFileList(list, downloadUrl && (await linksByPath(files, list, downloadUrl)))));
  } else {
    stdout.write(
      list.files.length === 0 ? "no files\n" : filesTable(list.files, styleFor(stdout, env), stdout.columns),
    );
    for (const remark of filesRemarks(list)) stderr.write(`codecell: ${safeText(remark)}\n`);
  }
  return interruption.exitCode ?? 0;
}

/** A link contains the hash of the file's content, so each file is read. A file that is too large to hash gets no link. */
async function linksByPath(
  files: WorkspaceFiles,
  list: FileList,
  downloadUrl: DownloadUrl,
): Promise<Map<string, string>> {
  const { artifacts } = await describeArtifacts(files, list.files, { maxCount: list.files.length });
  return new Map(artifacts.map(({ name, sha256 }) => [name, downloadUrl({ name, sha256 })]));
}
