import { z } from "zod";
import { hostFileForms } from "../../artifacts/host-file-form.ts";
import { defineTool } from "./tool.ts";

export const rlmLoadTool = defineTool({
  name: "rlm_load",
  title: "Load a file into a variable",
  description: `Read a file from the user's machine into a variable of the shared session, without passing it through the conversation. Relative paths start at the project directory. The policy (fs.load) decides what can be loaded; the default is the project directory. Credentials are always refused: keys, .env files, .ssh, .aws, .config/gcloud, .gnupg and the like.

\`form\`: text (a string), lines (a list), json, jsonl (a list), csv (a list of dicts), bytes.`,
  input: z.strictObject({
    path: z.string(),
    var_name: z.string().describe("Name of the Python variable."),
    form: z.enum(hostFileForms).default("text"),
  }),
  output: z.strictObject({
    ...{ session_id: z.string(), var_name: z.string(), form: z.string() },
    size: z.int().describe("bytes of the file"),
  }),
  effect: "changes",
  isIdempotent: true,
  isMain: true,
  async call({ path, var_name, form }, sandbox) {
    const session = await sandbox.defaultSession();
    const { bytes } = await session.load(path, var_name, form, sandbox.projectDir);
    return { facts: { session_id: session.id, var_name, form, size: bytes } };
  },
});
