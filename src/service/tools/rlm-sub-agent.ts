import { z } from "zod";
import { defineTool } from "./tool.ts";

export const rlmSubAgentTool = defineTool({
  name: "rlm_sub_agent",
  title: "Ask a sub-agent",
  description: `Ask a model that answers by a signature such as "question, context -> answer". Its answer is stored in the shared session as _sub_agent_result.`,
  input: z.strictObject({
    signature: z.string().describe('Names of inputs and outputs, such as "question -> answer".'),
    inputs: z.record(z.string(), z.unknown()),
  }),
  output: z.object({ status: z.literal("not_configured"), remedy: z.string() }),
  effect: "changes",
  async call() {
    const remedy =
      "this version of codecell does not support sub-agents yet: do the work yourself with rlm_exec and rlm_get";
    return { facts: { status: "not_configured" as const, remedy }, text: `not_configured: ${remedy}` };
  },
});
