import { z } from "zod";
import { loadOnce } from "../../lib/load-once.ts";
import { toolRunWithReceiptSchema } from "../wire/tool-run.ts";
import { defineTool } from "./tool.ts";
import { waitSeconds } from "./wait-seconds.ts";

const waiting = loadOnce(() => import("../runs/await-run.ts"));
const summarising = loadOnce(() => import("../replies/with-receipt.ts"));

export const getRunTool = defineTool({
  name: "get_run",
  title: "Wait for a run",
  description: `Wait for a run with status "running" and return its result, or its output so far. wait=0 returns at once. Results are kept for 15 minutes. Cancelling this call stops the waiting, not the run.`,
  input: z.strictObject({
    run_id: z.string(),
    wait: waitSeconds,
    receipt: z.boolean().default(false).describe("Add the isolation and the policy rules that are not enforced."),
  }),
  output: toolRunWithReceiptSchema,
  effect: "reads",
  isMain: true,
  async call({ run_id, wait, receipt }, sandbox, context) {
    const { awaitRun } = await waiting();
    const reply = await awaitRun(sandbox, run_id, context, { waitMs: wait * 1000, cancelStopsRun: false });
    if (!receipt || reply.facts.status === "running") return reply;
    const { withReceipt } = await summarising();
    return withReceipt(reply, sandbox, context.signal);
  },
});
