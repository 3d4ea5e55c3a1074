import { CodecellError } from "../../../lib/errors.ts";
import { encodeReceipt, receiptSchema } from "../../../service/wire/receipt.ts";
import { findRun } from "../answers/run-outcome.ts";
import { runParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const getReceiptRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/runs/{run}/receipt",
  id: "getReceipt",
  summary: "Get the receipt of a run: what was enforced, rule by rule",
  tag: "runs",
  scope: "read",
  params: runParams,
  replies: { 200: { description: "the receipt", schema: receiptSchema } },
  async handle({ params, tenant, signal }) {
    const { sandbox, runId } = await findRun(tenant, params);
    const outcome = await sandbox.runs.wait(runId, { timeoutMs: 0, signal });
    if (outcome.status === "running") {
      throw new CodecellError("session_busy", "the run is still running", {
        hint: "its receipt is ready when it ends",
      });
    }
    return { json: encodeReceipt(outcome.receipt) };
  },
});
