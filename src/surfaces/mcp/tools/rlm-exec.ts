import { z } from "zod";
import { loadOnce } from "../../../lib/load-once.ts";
import { toolRunSchema } from "../../../service/wire/tool-run.ts";
import { defineTool } from "../tool.ts";
import { waitSeconds } from "../wait-seconds.ts";

const running = loadOnce(() => import("../run-code.ts"));

export const rlmExecTool = defineTool({
  name: "rlm_exec",
  title: "Run Python in the shared sandbox",
  description: `Run Python in this server's one shared, isolated session. Variables stay between calls: load data once with rlm_load, work on it with code, and take out only what you need, so that large data never passes through the conversation.

The value of the last expression is returned as \`value\`, print() goes to \`stdout\`, shown figures come back as images, files written to the working directory as artifacts. A failing program is a normal answer with status "error"; the variables are kept. Status "running" has a run_id for get_run and cancel_run.`,
  input: z.strictObject({
    code: z.string().describe("The program."),
    timeout: z.number().positive().max(86_400).default(30).describe("Seconds after which the code is interrupted."),
    wait: waitSeconds,
  }),
  output: toolRunSchema,
  effect: "code",
  isMain: true,
  async call({ code, timeout, wait }, sandbox, context) {
    const session = await sandbox.defaultSession();
    const { runCode } = await running();
    return runCode(sandbox, session, { code, timeoutSeconds: timeout, waitSeconds: wait }, context);
  },
});
