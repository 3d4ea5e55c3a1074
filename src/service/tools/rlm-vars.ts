import { z } from "zod";
import { encodeVariable, variableSchema } from "../wire/variable.ts";
import { defineTool } from "./tool.ts";

const maxVariables = 200;
const maxSummary = 200;

export const rlmVarsTool = defineTool({
  name: "rlm_vars",
  title: "List the variables",
  description: `List the variables of the shared session with their types and a short summary of each value, ${maxVariables} at maxVariables.`,
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
    return { facts: { session_id: session.id, variables, total: all.length } };
  },
});

function short(text: string): string {
  return text.slice(0, maxSummary);
}
