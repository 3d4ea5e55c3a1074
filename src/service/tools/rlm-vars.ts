import { z } from "zod";
import { encodeVariable, variableSchema } from "../wire/sessions/variable.ts";
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
    const lines = variables.map(({ name, type, summary }) => `${name}: ${type} = ${summary}`);
    const more = all.length - variables.length;
    const text = [...(lines.length > 0 ? lines : ["no variables"]), ...(more > 0 ? [`and ${more} more`] : [])].join(
      "\n",
    );
    return { facts: { session_id: session.id, variables, total: all.length }, text };
  },
});

function short(text: string): string {
  return text.slice(0, maxSummary);
}
