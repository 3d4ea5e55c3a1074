import { z } from "zod";
import { loadOnce } from "../../lib/load-once.ts";
import { toolRunWithReceiptSchema } from "../wire/runs/tool-run.ts";
import { defineTool } from "./tool.ts";
import { waitSeconds } from "./wait-seconds.ts";

const waiting = loadOnce(() => import("../runs/await-run.ts"));
const summarising = loadOnce(() => import("../replies/with-receipt.ts"));

const endWithinMs = 10_000;

export const getRunTool = defineTool({
  name: "get_run",
  title: "Wait for a run, or stop it",
  description:
    "Wait for a run with status running. Returns its result, or what it printed since the last look. cancel=true stops it: the code is interrupted and variables are kept; code that ignores this is killed, and the variables from before that run come back.",
  input: z.strictObject({
    run_id: z.string(),
    wait: waitSeconds.describe("Seconds."),
    cancel: z.boolean().default(false),
    receipt: z.boolean().default(false).describe("Add the isolation and the rules that nobody enforces."),
  }),
  output: toolRunWithReceiptSchema,
  effect: "changes",
  isIdempotent: true,
  isMain: true,
  async call({ run_id, wait, cancel, receipt }, sandbox, context) {
    if (cancel) sandbox.runs.cancel(run_id);
    const { awaitRun } = await waiting();
    const waitMs = cancel ? endWithinMs : wait * 1000;
    const reply = await awaitRun(sandbox, run_id, context, { waitMs, cancelStopsRun: false });
    if (!receipt || reply.facts.status === "running") return reply;
    const { withReceipt } = await summarising();
    return withReceipt(reply, sandbox, context.signal);
  },
});
