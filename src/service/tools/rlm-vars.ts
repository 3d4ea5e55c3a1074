import { z } from "zod";
import { defineTool } from "./tool.ts";

const most = 200;
const maxSummary = 200;

export const rlmVarsTool = defineTool({
  name: "rlm_vars",
  title: "List the variables",
  description: `List the variables of the shared session with their types and a short summary of each value, ${most} at most.`,
  input: z.strictObject({}),
  output: z.object({
    session_id: z.string(),
    variables: z.array(
      z.object({ name: z.string(), type: z.string(), size: z.number().nullable(), summary: z.string() }),
    ),
    total: z.number(),
  }),
  effect: "reads",
  async call(_args, sandbox) {
    const session = await sandbox.defaultSession();
    const all = await session.variables();
    const variables = all.slice(0, most).map(({ name, type, size, summary }) => ({
      ...{ name: name.slice(0, maxSummary), type: type.slice(0, maxSummary), size: size ?? null },
      summary: summary.slice(0, maxSummary),
    }));
    return { facts: { session_id: session.id, variables, total: all.length } };
  },
});
