import { type CachedSet, listPackageSets } from "../../../packages/store/package-sets.ts";
import { packagesDirectory } from "../../../sessions/packages/session-packages.ts";
import type { Command, CommandContext } from "../command.ts";
import { formatAge } from "../format/text/format-age.ts";
import { formatBytes } from "../format/text/format-bytes.ts";
import { jsonText } from "../format/text/json-text.ts";
import { safeText } from "../format/text/safe-text.ts";
import { tableLines } from "../format/text/table.ts";
import { setJson, setName } from "../packages/package-set-text.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { stateDirOf, stateOptions } from "../shell/state-dir.ts";

const options = {
  ...stateOptions,
  json: { type: "boolean", help: "Print one JSON object." },
  ...commonOptions,
} as const;

export const packagesLsCommand: Command = {
  name: "packages ls",
  summary: "List the cached Python packages of `--with` and kernel.packages",
  usage: "codecell packages ls [options]",
  options,
  notes: [
    "Each line is a set: the packages that a cell gets together. USED is the time since a session last started with it.",
  ],
  examples: [
    ["codecell packages ls", "every set of this user"],
    ["codecell packages ls --json", "the same with hashes, indexes and directories, for programs"],
  ],
  run: runPackagesLs,
};

async function runPackagesLs(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values } = parseArguments("packages ls", argv, options, 0);
  const sets = await listPackageSets(packagesDirectory(stateDirOf(values, terminal)));
  const { stdout } = terminal;
  stdout.write(values.json ? jsonText({ sets: sets.map(setJson) }) : setsText(sets, stdout.columns));
  return 0;
}

function setsText(sets: readonly CachedSet[], width: number): string {
  if (sets.length === 0) return "No packages are cached. `codecell run --with NAME` installs some.\n";
  const rows = sets.map((set) => [
    set.key.slice(0, 12),
    formatBytes(set.bytes),
    formatAge(Date.now() - set.lastUsedMs),
    safeText(setName(set)),
  ]);
  return `${tableLines(["SET", "SIZE", "USED", "PACKAGES"], rows, width).join("\n")}\n`;
}
