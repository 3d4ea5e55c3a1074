import { z } from "zod";
import { loadOnce } from "../../lib/load-once.ts";
import { toolRunSchema } from "../wire/tool-run.ts";
import { defineTool } from "./tool.ts";

const waiting = loadOnce(() => import("../runs/await-run.ts"));

const endWithinMs = 10_000;

export const cancelRunTool = defineTool({
  name: "cancel_run",
  title: "Stop a run",
  description:
    "Stop a run and return what it has printed. The code is interrupted first, so the session keeps its variables. Code that ignores the interrupt is killed; the session then continues with the variables from before that run.",
  input: z.strictObject({ run_id: z.string() }),
  output: toolRunSchema,
  effect: "changes",
  isIdempotent: true,
  async call({ run_id }, sandbox, context) {
    sandbox.runs.cancel(run_id);
    const { awaitRun } = await waiting();
    return awaitRun(sandbox, run_id, context, { waitMs: endWithinMs, cancelStopsRun: false });
  },
});
