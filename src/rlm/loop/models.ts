import type { LmAnswer } from "../../llm/calls/call-event.ts";
import type { CallOptions } from "../../llm/calls/gateway.ts";
import type { LmRequest } from "../../llm/client.ts";

/** How the loop reaches models: an `LmGateway`, or a script in tests. A call that the budget does not allow is never sent. */
export interface RlmModels {
  complete(request: LmRequest, options: CallOptions): Promise<LmAnswer>;
}
