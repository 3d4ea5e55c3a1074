import { z } from "zod";
import { loadOnce } from "../../../lib/load-once.ts";
import { toolRunSchema } from "../../../service/wire/tool-run.ts";
import { defineTool } from "../tool.ts";
import { waitSeconds } from "../wait-seconds.ts";

const running = loadOnce(() => import("../run-code.ts"));

export const runPythonTool = defineTool({
  name: "run_python",
  title: "Run code in a sandbox",
  description: `Run Python (or bash) in an isolated, persistent session. Variables, imports and files in /workspace stay for the next call with the same session_id; without session_id a new session starts and its id is returned.

- The value of the last expression is returned as \`value\`; print() goes to \`stdout\`. Matplotlib figures that are shown come back as images.
- Files written to the working directory are returned as artifacts; read them with read_artifact. Bring data in with upload_file.
- A failing program is a normal answer with status "error" and a traceback: correct the code and call again, the variables are kept.
- An answer with status "running" has a run_id: call get_run to wait on, cancel_run to stop.
- There is no access to the host's files or to the network, unless the policy says otherwise.
- One session runs one program at a time; use several sessions (or fork_session) for parallel work.`,
  input: z.strictObject({
    code: z.string().describe("The program."),
    session_id: z.string().optional().describe("Id that an earlier call returned. Absent: a new session."),
    language: z.enum(["python", "bash"]).default("python"),
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
