import { z } from "zod";
import { loadOnce } from "../../lib/load-once.ts";
import { toolRunSchema } from "../wire/tool-run.ts";
import { defineTool } from "./tool.ts";
import { waitSeconds } from "./wait-seconds.ts";

const waiting = loadOnce(() => import("../runs/await-run.ts"));

export const getRunTool = defineTool({
  name: "get_run",
  title: "Wait for a run",
  description: `Wait for a run with status "running" and return its result, or its output so far. wait=0 returns at once. Results are kept for 15 minutes. Cancelling this call stops the waiting, not the run.`,
  input: z.strictObject({ run_id: z.string(), wait: waitSeconds }),
  output: toolRunSchema,
  effect: "reads",
  isMain: true,
  async call({ run_id, wait }, sandbox, context) {
    const { awaitRun } = await waiting();
    return awaitRun(sandbox, run_id, context, { waitMs: wait * 1000, cancelStopsRun: false });
  },
});
