import { z } from "zod";
import { loadOnce } from "../../lib/load-once.ts";
import { toolRunSchema } from "../wire/runs/tool-run.ts";
import { limitsText } from "./policy-facts.ts";
import { defineTool } from "./tool.ts";
import { waitSeconds } from "./wait-seconds.ts";

const running = loadOnce(() => import("../runs/run-code.ts"));

export const rlmExecTool = defineTool({
  name: "rlm_exec",
  title: "Run Python in the shared session",
  description:
    "Run Python in the shared session, on what rlm_load put there. Returns what it printed and the value of the last expression: return only what you need.",
  limits: limitsText,
  input: z.strictObject({
    code: z.string(),
    timeout: z.number().positive().max(86_400).default(30).describe("Seconds."),
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
