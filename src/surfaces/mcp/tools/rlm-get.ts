import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import type { ManagedSession } from "../../../sessions/managed-session.ts";
import { defineTool } from "../tool.ts";

const maxCharacters = 16_000;

export const rlmGetTool = defineTool({
  name: "rlm_get",
  title: "Get a variable's value",
  description: `Get the value of a variable of the shared session. With \`query\`, evaluate that Python expression instead, such as "len(rows)" or "df.describe().to_string()": ask for the part you need, since values over ${maxCharacters} characters are cut. What JSON cannot hold comes as its repr.`,
  input: z.strictObject({
    name: z.string().describe("Name of the variable."),
    query: z.string().optional().describe("Python expression to evaluate instead."),
  }),
  output: z.object({
    session_id: z.string(),
    expression: z.string(),
    form: z.enum(["json", "repr"]),
    value: z.string().describe("the value as JSON text, or its repr"),
    truncated: z.boolean(),
    characters: z.number().describe("length of the whole value"),
  }),
  effect: "reads",
  isIdempotent: false,
  async call({ name, query }, sandbox) {
    const session = await sandbox.defaultSession();
    const expression = query ?? name;
    const { form, text } = await readValue(session, expression);
    const value = text.slice(0, maxCharacters);
    const truncated = value.length < text.length;
    const facts = { session_id: session.id, expression, form, value, truncated, characters: text.length };
    return { facts, text: truncated ? `${value}\n… the first ${maxCharacters} of ${text.length} characters …` : value };
  },
});

async function readValue(
  session: ManagedSession,
  expression: string,
): Promise<{ form: "json" | "repr"; text: string }> {
  try {
    return { form: "json", text: JSON.stringify(await session.get(expression)) };
  } catch (error) {
    if (!(error instanceof CodecellError) || error.code !== "variable_unserializable") throw error;
    return { form: "repr", text: String(await session.get(`repr((${expression}\n))`)) };
  }
}
