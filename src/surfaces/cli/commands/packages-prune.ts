import { CodecellError } from "../../../lib/errors.ts";
import { prunePackages } from "../../../packages/store/package-sets.ts";
import { parseAge } from "../../../policy/package-rules.ts";
import { packagesDirectory } from "../../../sessions/packages/session-packages.ts";
import type { Command, CommandContext } from "../command.ts";
import { formatBytes } from "../format/text/format-bytes.ts";
import { jsonText } from "../format/text/json-text.ts";
import { plural } from "../format/text/plural.ts";
import { safeText } from "../format/text/safe-text.ts";
import { setJson, setName } from "../packages/package-set-text.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { stateDirOf, stateOptions } from "../shell/state-dir.ts";

const defaultAge = "30d";

const options = {
  "older-than": { type: "string", value: "30d", help: `Keep what was used more recently. Default: ${defaultAge}.` },
  ...stateOptions,
  json: { type: "boolean", help: "Print one JSON object." },
  ...commonOptions,
} as const;

export const packagesPruneCommand: Command = {
  name: "packages prune",
  summary: "Delete cached Python packages that were not used for a while",
  usage: "codecell packages prune [options]",
  options,
  notes: [
    "Does not ask for confirmation. What is needed again is downloaded again.",
    "--older-than 0s deletes everything. Sessions that are open then lose their packages: close them first.",
  ],
  examples: [
    ["codecell packages prune", `what no session has used for ${defaultAge}`],
    ["codecell packages prune --older-than 0s", "everything"],
  ],
  run: runPackagesPrune,
};

async function runPackagesPrune(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values } = parseArguments("packages prune", argv, options, 0);
  const { sets, wheels, bytes } = await prunePackages(packagesDirectory(stateDirOf(values, terminal)), {
    olderThanMs: ageOf(values["older-than"] ?? defaultAge),
  });
  const { stdout } = terminal;
  if (values.json) stdout.write(jsonText({ removed: { sets: sets.map(setJson), wheels, bytes } }));
  else {
    for (const set of sets) stdout.write(`removed ${safeText(setName(set))}\n`);
    stdout.write(`${plural(sets.length, "set")} and ${plural(wheels, "download")} removed: ${formatBytes(bytes)}\n`);
  }
  return 0;
}

function ageOf(text: string): number {
  const ms = parseAge(text);
  if (ms !== undefined) return ms;
  throw new CodecellError("usage", `--older-than ${JSON.stringify(text)} is not an age`, {
    hint: "use a value such as 30d, 12h or 0s",
  });
}
