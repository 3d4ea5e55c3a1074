import type { Sandbox } from "../sandbox.ts";
import type { ToolReply } from "../tools/tool.ts";
import { encodeReceiptSummary, type WireReceiptSummary } from "../wire/receipt-summary.ts";
import type { ToolRun } from "../wire/runs/tool-run.ts";

/** The reply of a run that ended, together with a summary of its receipt. */
export async function withReceipt(
  reply: ToolReply<ToolRun>,
  sandbox: Sandbox,
  signal: AbortSignal,
): Promise<ToolReply<ToolRun & { receipt?: WireReceiptSummary }>> {
  const outcome = await sandbox.runs.wait(reply.facts.run_id, { timeoutMs: 0, signal });
  if (outcome.status === "running") return reply;
  const receipt = encodeReceiptSummary(outcome.receipt, (await sandbox.sessions()).isolation);
  return { ...reply, facts: { ...reply.facts, receipt }, text: `${reply.text ?? ""}\n${receiptText(receipt)}` };
}

function receiptText({ runner_version, isolation, enforced, not_enforced, details }: WireReceiptSummary): string {
  return [
    `[receipt] isolation: ${isolation} (${runner_version}) · ${enforced} rules are enforced, ${not_enforced.length} are not`,
    ...not_enforced.map(({ rule, value, why }) => `${rule} (${value}): ${why}`),
    details,
  ].join("\n");
}
