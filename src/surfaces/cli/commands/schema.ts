import { CodecellError } from "../../../lib/errors.ts";
import { wireJsonSchema, wireNames } from "../../../service/wire/schemas.ts";
import type { Command, CommandContext } from "../command.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";

const options = { ...commonOptions } as const;

export const schemaCommand: Command = {
  name: "schema",
  summary: "Print the JSON Schema of what `--json`, HTTP and MCP answer",
  usage: "codecell schema [NAME]",
  options,
  notes: [`NAME is one of ${wireNames.join(", ")}. Without it, all of them are printed under $defs.`],
  examples: [
    ["codecell schema run", "what `codecell run --json` prints"],
    ["codecell schema > codecell.schema.json", "every object, for a code generator"],
  ],
  run: runSchema,
};

async function runSchema(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { positionals } = parseArguments("schema", argv, options, 1);
  const [asked] = positionals;
  const name = wireNames.find((one) => one === asked);
  if (asked !== undefined && name === undefined) {
    throw new CodecellError("usage", `codecell has no object ${JSON.stringify(asked.slice(0, 64))}`, {
      hint: `choose one of ${wireNames.join(", ")}`,
    });
  }
  terminal.stdout.write(`${JSON.stringify(wireJsonSchema(name), null, 2)}\n`);
  return 0;
}
