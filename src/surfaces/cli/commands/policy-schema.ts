import { policyJsonSchema } from "../../../policy/file/json-schema.ts";
import type { Command, CommandContext } from "../command.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";

const options = { ...commonOptions } as const;

export const policySchemaCommand: Command = {
  name: "policy schema",
  summary: "Print the JSON Schema for policy files, for editors",
  usage: "codecell policy schema",
  options,
  examples: [["codecell policy schema > codecell.schema.json", "for `# yaml-language-server: $schema=…`"]],
  run: runPolicySchema,
};

async function runPolicySchema(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  parseArguments("policy schema", argv, options, 0);
  terminal.stdout.write(`${JSON.stringify(policyJsonSchema(), null, 2)}\n`);
  return 0;
}
