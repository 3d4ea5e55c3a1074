import type { LmRequest, LmResponse } from "../client.ts";
import { inputUpperBound, noUsage } from "../usage.ts";

/** Usage for a server that does not report it, or reports nonsense: the worst case, so that a budget stays a hard limit. */
export function estimatedUsage(request: LmRequest): Pick<LmResponse, "usage" | "isUsageEstimated"> {
  const usage = { ...noUsage, inputTokens: inputUpperBound(request), outputTokens: request.maxTokens };
  return { usage, isUsageEstimated: true };
}
