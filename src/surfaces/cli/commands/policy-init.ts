import { relative } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { initialPolicyText, initPolicy } from "../../../policy/file/init-policy.ts";
import { trustInitialPolicy } from "../../../policy/file/policy-trust.ts";
import { type PresetName, presetNames } from "../../../policy/file/presets.ts";
import { nearest } from "../../../policy/file/suggest.ts";
import type { Command, CommandContext } from "../command.ts";
import { jsonText } from "../format/text/json-text.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { stateDirOf } from "../shell/state-dir.ts";

const options = {
  preset: {
    type: "string",
    value: presetNames.join("|"),
    help: "Preset to start from. Default: strict.",
  },
  all: { type: "boolean", help: "Write every rule with its default, instead of an example for each section." },
  force: { type: "boolean", help: "Overwrite an existing file." },
  json: { type: "boolean", help: "Print one JSON object." },
  ...commonOptions,
} as const;

export const policyInitCommand: Command = {
  name: "policy init",
  summary: "Write a commented sandbox.policy.yaml into the current directory",
  usage: `codecell policy init [${presetNames.join("|")}] [--all] [--force] [--json]`,
  options,
  examples: [
    ["codecell policy init", "a short file with an example for each section"],
    ["codecell policy init --all", "every rule with its explanation and its default"],
    ["codecell policy init data-analysis", "higher limits for data; numpy and pandas preloaded"],
  ],
  run: runPolicyInit,
};

async function runPolicyInit(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("policy init", argv, options, 1);
  const preset = parsePreset(values.preset ?? positionals[0]);
  if (positionals[0] !== undefined && positionals[0] !== preset) {
    throw new CodecellError("usage", `two presets are named: ${JSON.stringify(positionals[0])} and ${preset}`);
  }
  const choice = { preset, all: values.all === true };
  const path = await initPolicy(terminal.cwd, { ...choice, force: values.force === true });
  await trustInitialPolicy(path, initialPolicyText(choice), stateDirOf({}, terminal));
  if (values.json) terminal.stdout.write(jsonText({ file: path, preset }));
  else
    terminal.stdout.write(
      `wrote ${relative(terminal.cwd, path)} (${preset}); \`codecell policy explain\` shows how it is enforced\n`,
    );
  return 0;
}

function parsePreset(text = "strict"): PresetName {
  const name = presetNames.find((one) => one === text);
  if (name !== undefined) return name;
  const near = nearest(text, presetNames);
  const hint = near === undefined ? `use one of: ${presetNames.join(", ")}` : `did you mean ${near}?`;
  throw new CodecellError("usage", `unknown preset ${JSON.stringify(text)}`, { hint });
}
