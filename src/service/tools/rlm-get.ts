import { z } from "zod";
import { markedText } from "../output/mark-imitations.ts";
import { readableText } from "../output/readable-text.ts";
import { defineTool } from "./tool.ts";

const maxBytes = 16 * 1024;

export const rlmGetTool = defineTool({
  name: "rlm_get",
  title: "Get a variable's value",
  description:
    "Get a variable of the shared session, or with query the value of an expression such as rows[100:150] or df.describe().to_string(). At most the first 16 KiB are returned.",
  input: z.strictObject({
    name: z.string(),
    query: z.string().optional(),
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
    // Truncated inside the cell: a variable may be larger than the memory of this process.
    const { form, text, characters, isCut } = await session.preview(expression, { maxBytes });
    const facts = { session_id: session.id, expression, form, value: text, truncated: isCut, characters };
    // A repr is whatever the program makes it. The attack: lines in it that say what codecell would say.
    const shown = markedText(readableText(text));
    const rest = "ask for a part with query: a slice such as x[1000:2000], a count, a summary";
    const end = isCut ? [`… truncated: ${characters} characters in total; ${rest} …`] : [];
    return { facts, text: [...shown, ...end].join("\n") };
  },
});
