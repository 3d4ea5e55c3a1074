import { relative } from "node:path";
import { loadPolicy } from "../../../policy/file/load-policy.ts";
import { policyHash } from "../../../policy/hash.ts";
import type { Policy } from "../../../policy/schema.ts";
import type { Command, CommandContext } from "../command.ts";
import { jsonText } from "../format/text/json-text.ts";
import { namedPolicyFile } from "../policy/policy-file.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";

const options = { json: { type: "boolean", help: "Print one JSON object." }, ...commonOptions } as const;

export const policyCheckCommand: Command = {
  name: "policy check",
  summary: "Validate a policy file and report every problem in it",
  usage: "codecell policy check [FILE] [--json]",
  options,
  notes: [
    "Exit code: 0 if the file is valid, else 2. `codecell policy explain` shows whether this machine can enforce it.",
  ],
  examples: [
    ["codecell policy check", "./sandbox.policy.yaml"],
    ["codecell policy check other.yaml --json", "problems as JSON, with file, line, column and rule"],
  ],
  run: runPolicyCheck,
};

async function runPolicyCheck(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("policy check", argv, options, 1);
  const { file, isNamed } = await namedPolicyFile(positionals[0], terminal);
  const policy = await loadPolicy(file, { mustBeOwn: !isNamed });
  const hash = policyHash(policy);
  const notes = [...withoutEffect(policy), ...withoutHosts(policy)];
  if (values.json) terminal.stdout.write(jsonText({ ok: true, file, policy_hash: hash, notes }));
  else {
    terminal.stdout.write(`${relative(terminal.cwd, file) || file} is valid (sha256 ${hash.slice(0, 12)}…)\n`);
    for (const note of notes) terminal.stderr.write(`codecell: ${note}\n`);
  }
  return 0;
}

/** A network that reaches nothing. If host programs may add hosts, it may be meant. */
function withoutHosts({ net, overrides }: Policy): string[] {
  const mayBeAdded = (overrides.ceiling.net?.allowlist ?? []).length > 0;
  if (!net.enabled || net.allowlist.length > 0 || mayBeAdded) return [];
  return ["net.enabled: no host can be reached, because net.allowlist is empty"];
}

/** Rules that say something, and do nothing. */
function withoutEffect({ net }: Policy): string[] {
  if (net.enabled) return [];
  const rules = Object.entries(net).filter(([, value]) => typeof value === "object" && Object.keys(value).length > 0);
  const names = rules.map(([name]) => `net.${name}`);
  if (names.length === 0) return [];
  return [`${names.join(", ")}: no effect, because net.enabled is false and cells have no network`];
}
