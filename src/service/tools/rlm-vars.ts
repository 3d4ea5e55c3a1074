import { z } from "zod";
import { quotedName } from "../../lib/quoted-name.ts";
import { markedText } from "../output/mark-imitations.ts";
import { readableLine } from "../output/readable-text.ts";
import { encodeVariable, variableSchema, type WireVariable } from "../wire/sessions/variable.ts";
import { defineTool } from "./tool.ts";

const maxVariables = 200;
const maxSummary = 200;

export const rlmVarsTool = defineTool({
  name: "rlm_vars",
  title: "List the variables",
  description: "List the variables of the shared session with type and a summary of the value.",
  input: z.strictObject({}),
  output: z.strictObject({ session_id: z.string(), variables: z.array(variableSchema), total: z.int() }),
  effect: "reads",
  async call(_args, sandbox) {
    const session = await sandbox.defaultSession();
    const all = await session.variables();
    const variables = all.slice(0, maxVariables).map((one) => {
      const { name, type, size, summary } = encodeVariable(one);
      return { name: short(name), type: short(type), size, summary: short(summary) };
    });
    const lines = variables.map(rowOf);
    const more = all.length - variables.length;
    const text = [
      ...(lines.length > 0 ? markedText(lines.join("\n")) : ["no variables"]),
      ...(more > 0 ? [`and ${more} more`] : []),
    ].join("\n");
    return { facts: { session_id: session.id, variables, total: all.length }, text };
  },
});

/** The program chose all of it. The attack: a class with a line end in its name, and then a note as codecell writes it. */
function rowOf({ name, type, summary }: Pick<WireVariable, "name" | "type" | "summary">): string {
  return `${quotedName(name)}: ${quotedName(type)} = ${readableLine(summary, maxSummary)}`;
}

function short(text: string): string {
  return text.slice(0, maxSummary);
}
