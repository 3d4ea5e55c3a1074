import { dirname, relative } from "node:path";
import { readPolicyText } from "../../../policy/file/load-policy.ts";
import { parsePolicyText } from "../../../policy/file/parse-policy-text.ts";
import { trustPolicy } from "../../../policy/file/policy-trust.ts";
import type { Command, CommandContext } from "../command.ts";
import { jsonText } from "../format/text/json-text.ts";
import { namedPolicyFile } from "../policy/policy-file.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { stateDirOf, stateOptions } from "../shell/state-dir.ts";

const options = {
  json: { type: "boolean", help: "Print one JSON object." },
  ...stateOptions,
  ...commonOptions,
} as const;

export const policyTrustCommand: Command = {
  name: "policy trust",
  summary: "Obey a policy file in a directory that programs could write",
  usage: "codecell policy trust [FILE] [--state-dir DIR] [--json]",
  options,
  notes: [
    "Read the file first: a program in a sandbox may have written it. The trust is for the text as it is now, at this path.",
  ],
  examples: [["codecell policy trust", "./sandbox.policy.yaml"]],
  run: runPolicyTrust,
};

async function runPolicyTrust(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("policy trust", argv, options, 1);
  const { file, isNamed } = await namedPolicyFile(positionals[0], terminal);
  const text = await readPolicyText(file, file, !isNamed);
  parsePolicyText(text, { file, baseDir: dirname(file) }); // a file with mistakes cannot be obeyed anyway
  await trustPolicy(file, text, stateDirOf(values, terminal));
  if (values.json) terminal.stdout.write(jsonText({ ok: true, file }));
  else terminal.stdout.write(`${relative(terminal.cwd, file) || file} is trusted as it is now\n`);
  return 0;
}
