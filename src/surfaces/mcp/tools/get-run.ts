import { z } from "zod";
import { awaitRun } from "../await-run.ts";
import { waitSeconds } from "../run-code.ts";
import { runFacts } from "../run-facts.ts";
import { defineTool } from "../tool.ts";

export const getRunTool = defineTool({
  name: "get_run",
  title: "Wait for a run",
  description: `Wait for a run that answered status "running", and return its result or its output so far. wait=0 asks without waiting. Results stay for 15 minutes after the end. Cancelling this call ends the waiting, not the run.`,
  input: z.strictObject({ run_id: z.string(), wait: waitSeconds }),
  output: runFacts,
  effect: "reads",
  isMain: true,
  call: ({ run_id, wait }, sandbox, context) =>
    awaitRun(sandbox, run_id, context, { waitMs: wait * 1000, cancelStopsRun: false }),
});
