import { z } from "zod";
import { loadOnce } from "../../lib/load-once.ts";
import { defaultLanguage, languageNames } from "../../policy/languages.ts";
import { toolRunSchema } from "../wire/tool-run.ts";
import { defineTool } from "./tool.ts";
import { waitSeconds } from "./wait-seconds.ts";

const running = loadOnce(() => import("../runs/run-code.ts"));

export const runPythonTool = defineTool({
  name: "run_python",
  title: "Run code in a sandbox",
  description: `Run Python (or bash) in an isolated, persistent session. Variables, imports and files in /workspace persist for calls with the same session_id. Without session_id a new session starts, and its id is returned.

- The value of the last expression is returned as \`value\`, print() output as \`stdout\`. Shown Matplotlib figures are returned as images.
- Files written to the working directory are returned as artifacts; read them with read_artifact. Use upload_file to add data.
- If the program fails, the status is "error" with a traceback, and the variables are kept: correct the code and call again.
- If the status is "running", call get_run with the run_id to wait, or cancel_run to stop it.
- Code cannot reach the host's files or the network, unless the policy allows it.
- A session runs one program at a time; use several sessions (or fork_session) for parallel work.`,
  input: z.strictObject({
    code: z.string().describe("The program."),
    session_id: z
      .string()
      .optional()
      .describe("session_id that an earlier call returned; omit it to start a new session."),
    language: z.enum(languageNames).default(defaultLanguage),
    timeout: z.number().positive().max(86_400).optional().describe("Seconds after which the code is interrupted."),
    wait: waitSeconds,
  }),
  output: toolRunSchema,
  effect: "code",
  isMain: true,
  async call({ code, session_id, language, timeout, wait }, sandbox, context) {
    const session = await sandbox.session(session_id);
    const { runCode } = await running();
    return runCode(sandbox, session, { code, language, timeoutSeconds: timeout, waitSeconds: wait }, context);
  },
});
