import { z } from "zod";
import { loadOnce } from "../../lib/load-once.ts";
import { toolRunSchema } from "../wire/tool-run.ts";
import { defineTool } from "./tool.ts";
import { waitSeconds } from "./wait-seconds.ts";

const running = loadOnce(() => import("../runs/run-code.ts"));

export const rlmExecTool = defineTool({
  name: "rlm_exec",
  title: "Run Python in the shared sandbox",
  description: `Run Python in this server's one shared, isolated session. Variables persist between calls: load data once with rlm_load, process it with code, and return only what you need, so that large data never passes through the conversation.

The value of the last expression is returned as \`value\`, print() output as \`stdout\`, shown figures as images, and files written to the working directory as artifacts. If the program fails, the status is "error" and the variables are kept. If the status is "running", use its run_id with get_run or cancel_run.`,
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
