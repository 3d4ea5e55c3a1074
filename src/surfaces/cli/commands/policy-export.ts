import { CodecellError } from "../../../lib/errors.ts";
import type { SrtNote } from "../../../policy/srt/srt-notes.ts";
import { srtSettings } from "../../../policy/srt/srt-settings.ts";
import type { Command, CommandContext } from "../command.ts";
import { jsonText } from "../format/json-text.ts";
import { notesText } from "../format/notes-text.ts";
import { servedPolicy } from "../policy/served-policy.ts";
import { findSrt, installSrt } from "../setup/find-srt.ts";
import { gatherSrtPaths } from "../setup/srt-paths.ts";
import { wasmRefusals } from "../setup/wasm-refusals.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { stateDirOf, stateOptions } from "../shell/state-dir.ts";

const options = {
  format: { type: "string", value: "srt", help: "The only one: settings of @anthropic-ai/sandbox-runtime." },
  ...stateOptions,
  json: { type: "boolean", help: "Print one JSON object: settings and notes." },
  ...commonOptions,
} as const;

export const policyExportCommand: Command = {
  name: "policy export",
  summary: "Turn a policy into settings for a sandbox around the MCP server itself",
  usage: "codecell policy export --format srt [FILE] [--state-dir DIR] [--json]",
  options,
  notes: [
    "The settings go to stdout; what srt cannot hold of the policy goes to stderr, or into `notes` with --json. Without a file: ./sandbox.policy.yaml, else the policy that `codecell mcp` has without one.",
    "`codecell setup claude-code --wrap srt` writes such a file and registers the wrapped server.",
  ],
  examples: [
    ["codecell policy export --format srt > srt.json", "settings for this policy, notes on the terminal"],
    ["codecell policy export --format srt strict.yaml --json", "both in one object"],
  ],
  run: runPolicyExport,
};

async function runPolicyExport(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("policy export", argv, options, 1);
  if (values.format !== "srt") {
    const message = values.format === undefined ? "--format is missing" : `there is no format ${values.format}`;
    throw new CodecellError("usage", message, { hint: "--format srt" });
  }
  const { terminal } = context;
  const { policy, file } = await servedPolicy({ policy: positionals[0] }, terminal);
  const srt = await findSrt(terminal.env.PATH ?? "").catch(() => undefined);
  const stateDir = stateDirOf(values, terminal);
  const places = { stateDir, policyFile: file, insideFiles: srt?.insideFiles ?? [], env: terminal.env };
  const { settings, notes } = srtSettings(policy, await gatherSrtPaths(policy, places));
  const all: SrtNote[] = [
    ...notes,
    ...(await wasmRefusals(policy, context)).map(({ rule, reason }) => ({
      rules: [rule],
      note: `the wasm runner, the one that works inside srt, refuses it: ${reason}`,
    })),
    {
      rules: [],
      note: "srt hands its own environment to the server: start it with `env -i` and the few variables it needs, or a server that was taken over reads every key in it",
    },
    {
      rules: [],
      note: "a state directory that codecell also uses outside of the wrap lets a server that was taken over leave files there for it: give the wrapped one its own, with XDG_STATE_HOME and --state-dir",
    },
    ...(srt === undefined
      ? [
          {
            rules: [],
            note: `srt was not found, so its own files are not in allowRead yet: ${installSrt}, and export again`,
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
