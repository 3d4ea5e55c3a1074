import { CodecellError } from "../../../lib/errors.ts";
import { wireJsonSchema, wireNames } from "../../../service/wire/schemas.ts";
import type { Command, CommandContext } from "../command.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";

const options = { ...commonOptions } as const;

export const schemaCommand: Command = {
  name: "schema",
  summary: "Print the JSON Schema of the objects that `--json`, HTTP and MCP return",
  usage: "codecell schema [NAME]",
  options,
  notes: [`NAME is one of ${wireNames.join(", ")}. Without NAME, all of them are printed under $defs.`],
  examples: [
    ["codecell schema run", "what `codecell run --json` prints"],
    ["codecell schema > codecell.schema.json", "all objects, for a code generator"],
  ],
  run: runSchema,
};

async function runSchema(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { positionals } = parseArguments("schema", argv, options, 1);
  const [requested] = positionals;
  const name = wireNames.find((one) => one === requested);
  if (requested !== undefined && name === undefined) {
    throw new CodecellError("usage", `unknown object ${JSON.stringify(requested.slice(0, 64))}`, {
      hint: `use one of: ${wireNames.join(", ")}`,
    });
  }
  terminal.stdout.write(`${JSON.stringify(wireJsonSchema(name), null, 2)}\n`);
  return 0;
}
