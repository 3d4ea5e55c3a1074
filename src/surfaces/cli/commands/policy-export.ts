import { CodecellError } from "../../../lib/errors.ts";
import type { SrtNote } from "../../../policy/srt/srt-notes.ts";
import { srtSettings } from "../../../policy/srt/srt-settings.ts";
import type { Command, CommandContext } from "../command.ts";
import { jsonText } from "../format/text/json-text.ts";
import { notesText } from "../format/text/notes-text.ts";
import { servedPolicy } from "../policy/served-policy.ts";
import { findSrt, installSrt } from "../setup/find-srt.ts";
import { planInsideSrt } from "../setup/plan-inside-srt.ts";
import { gatherSrtPaths } from "../setup/srt-paths.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { stateDirOf, stateOptions } from "../shell/state-dir.ts";

const options = {
  format: {
    type: "string",
    value: "srt",
    help: "Output format; srt is the only one: settings of @anthropic-ai/sandbox-runtime.",
  },
  ...stateOptions,
  json: { type: "boolean", help: "Print one JSON object with settings and notes." },
  ...commonOptions,
} as const;

export const policyExportCommand: Command = {
  name: "policy export",
  summary: "Convert a policy into settings for a sandbox around the MCP server itself",
  usage: "codecell policy export --format srt [FILE] [--state-dir DIR] [--json]",
  options,
  notes: [
    "Settings go to stdout. Rules that srt cannot enforce are listed on stderr, or in `notes` with --json. Without FILE it uses ./sandbox.policy.yaml, else the default policy of `codecell mcp`.",
    "`codecell setup claude-code --wrap srt` writes such a file and registers the wrapped server.",
  ],
  examples: [
    ["codecell policy export --format srt > srt.json", "settings in a file, notes on the terminal"],
    ["codecell policy export --format srt strict.yaml --json", "settings and notes in one object"],
  ],
  run: runPolicyExport,
};

async function runPolicyExport(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("policy export", argv, options, 1);
  if (values.format !== "srt") {
    const message = values.format === undefined ? "--format is missing" : `unknown format ${values.format}`;
    throw new CodecellError("usage", message, { hint: "use --format srt" });
  }
  const { terminal } = context;
  const { policy, file } = await servedPolicy({ policy: positionals[0] }, terminal);
  const srt = await findSrt(terminal.env.PATH ?? "").catch(() => undefined);
  const stateDir = stateDirOf(values, terminal);
  const { refused, needsEngine } = await planInsideSrt(policy, context);
  const places = { stateDir, policyFile: file, insideFiles: srt?.insideFiles ?? [], needsEngine, env: terminal.env };
  const { settings, notes } = srtSettings(policy, await gatherSrtPaths(policy, places));
  const all: SrtNote[] = [
    ...notes,
    ...refused.map(({ rule, reason }) => ({
      rules: [rule],
      note: `only the wasm runner works inside srt, and it refuses this rule: ${reason}`,
    })),
    {
      rules: [],
      note: "srt passes its own environment to the server, so a compromised server can read every key in it. Start srt with `env -i` and only the variables it needs",
    },
    {
      rules: [],
      note: "a compromised server can plant files in a state directory that codecell also uses outside srt. Give the wrapped server its own directory, with XDG_STATE_HOME and --state-dir",
    },
    ...(srt === undefined
      ? [
          {
            rules: [],
            note: `srt is not installed, so its own files are missing from allowRead. Install it with \`${installSrt}\` and export again`,
          },
        ]
      : []),
  ];
  if (values.json) terminal.stdout.write(jsonText({ settings, notes: all }));
  else {
    terminal.stdout.write(`${JSON.stringify(settings, undefined, 2)}\n`);
    terminal.stderr.write(notesText(all));
  }
  return 0;
}
