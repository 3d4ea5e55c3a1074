import { z } from "zod";
import { hostFileForms } from "../../artifacts/host-file-form.ts";
import { quotedName } from "../../lib/quoted-name.ts";
import type { Session } from "../../sessions/session.ts";
import { defineTool } from "./tool.ts";

const maxKeys = 20;
const maxKeyCharacters = 60;
const maxTypeCharacters = 100;

export const rlmLoadTool = defineTool({
  name: "rlm_load",
  title: "Load a file into a variable",
  description:
    "Read a file of the user's machine into a variable of the shared session, without passing it through the conversation. Returns type, length and keys. Relative paths start at the project directory. The policy (fs.load) decides what may be loaded; credentials are always refused.",
  input: z.strictObject({
    path: z.string(),
    var_name: z.string(),
    form: z.enum(hostFileForms).default("text").describe("lines and jsonl give a list, csv a list of dicts."),
  }),
  output: z.strictObject({
    ...{ session_id: z.string(), var_name: z.string(), form: z.string() },
    size: z.int().describe("bytes of the file"),
    type: z.string().nullable().describe("of the value; null: unknown"),
    length: z.int().nullable().describe("null: a value without a length"),
    keys: z.array(z.string()).describe(`of a dict, or of the first dict of a list; at most ${maxKeys}`),
  }),
  effect: "changes",
  isIdempotent: true,
  isMain: true,
  nextSteps: { file_missing: "check the path: a relative one starts at the project directory" },
  async call({ path, var_name, form }, sandbox) {
    const session = await sandbox.defaultSession();
    const { bytes } = await session.load(path, var_name, form, sandbox.projectDir);
    const shape = await shapeOf(session, var_name);
    const facts = { session_id: session.id, var_name, form, size: bytes, ...shape };
    // Keys are what the file says, and types what the cell says. The attack: a column whose name is a line as codecell writes it.
    const keys = shape.keys.map((key) => quotedName(key)).join(", ");
    const text = [
      `${var_name}: ${shape.type === null ? form : quotedName(shape.type)}`,
      ...(shape.length === null ? [] : [`length ${shape.length}`]),
      ...(shape.keys.length === 0 ? [] : [`keys ${shape.type === "list" ? "of its first item " : ""}${keys}`]),
      `from ${bytes} bytes`,
    ].join(", ");
    return { facts, text };
  },
});

const described = z.tuple([z.string(), z.int().nullable(), z.array(z.unknown())]);

/** What the variable holds. Asks the cell without builtins, which the program may have replaced; it can lie only to itself. */
async function shapeOf(session: Session, name: string) {
  const firstItem = `${name}[0] if ${name}.__class__.__name__ == "list" and ${name} else ${name}`;
  const hasLength = `${name}.__class__.__name__ in ("str", "bytes", "list", "dict")`;
  const expression = `[${name}.__class__.__name__, ${name}.__len__() if ${hasLength} else None, [[key for key in item][:${maxKeys}] for item in [${firstItem}] if item.__class__.__name__ == "dict"]]`;
  try {
    const { text } = await session.preview(expression, { timeoutMs: 2_000 });
    const [type, length, [keys = []]] = described.parse(JSON.parse(text)) as [string, number | null, unknown[][]];
    const shownKeys = keys.slice(0, maxKeys).map((key) => String(key).slice(0, maxKeyCharacters));
    return { type: type.slice(0, maxTypeCharacters), length, keys: shownKeys };
  } catch {
    return { type: null, length: null, keys: [] }; // the variable is loaded all the same
  }
}
