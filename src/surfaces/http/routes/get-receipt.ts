import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { findRun } from "../answers/run-outcome.ts";
import { runParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const receiptSchema = z.object({
  runner: z.string(),
  runner_version: z.string(),
  policy_hash: z.string(),
  rules: z.array(
    z.object({
      rule: z.string().describe("as written in the policy, such as proc.memory"),
      value: z.string().describe("in force"),
      by: z.string().describe("who holds it: kernel, runtime, proxy, supervisor watchdog, host watchdog, host"),
      how: z.string(),
    }),
  ),
  notes: z.array(z.string()),
});

export const getReceiptRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/runs/{run}/receipt",
  id: "getReceipt",
  summary: "What was enforced during a run, rule by rule",
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
    const { runner, runnerVersion, policyHash, rules, notes } = outcome.receipt;
    return { json: { runner, runner_version: runnerVersion, policy_hash: policyHash, rules, notes } };
  },
});
