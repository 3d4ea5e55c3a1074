import { auditDirectory, listChains, readHead } from "../../../service/audit/audit-files.ts";
import type { Command, CommandContext } from "../command.ts";
import { jsonText } from "../format/text/json-text.ts";
import { headWord } from "../sessions/audit-heads.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { stateDirOf, stateOptions } from "../shell/state-dir.ts";

const options = {
  ...stateOptions,
  json: { type: "boolean", help: "Print one JSON object." },
  ...commonOptions,
} as const;

export const auditHeadCommand: Command = {
  name: "audit head",
  summary: "Print the number and hash of each chain's last line, to keep elsewhere",
  usage: "codecell audit head [options]",
  options,
  notes: [
    "A head vouches for every line before it. Keep it where codecell cannot write: it proves later that no line is missing.",
  ],
  examples: [
    ["codecell audit head > heads.txt", "record the current end of the audit"],
    [
      "codecell audit head | logger -t codecell-audit",
      "send it to the system log, which may be forwarded to another machine",
    ],
  ],
  run: runAuditHead,
};

async function runAuditHead(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values } = parseArguments("audit head", argv, options, 0);
  const dir = auditDirectory(stateDirOf(values, terminal));
  const heads = [];
  for (const chain of await listChains(dir)) {
    const head = await readHead(dir, chain);
    if (typeof head === "object") heads.push(head);
  }
  if (values.json) terminal.stdout.write(jsonText({ heads: heads.map((head) => ({ ...head, head: headWord(head) })) }));
  else for (const head of heads) terminal.stdout.write(`${headWord(head)}\n`);
  return 0;
}
