import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import { loadOnce } from "../../lib/load-once.ts";
import { subAgentOutput } from "./rlm-sub-agent.ts";
import { defineTool } from "./tool.ts";
import { waitSeconds } from "./wait-seconds.ts";

const replying = loadOnce(() => import("../rlm/sub-agent-reply.ts"));
const reading = loadOnce(() => import("../rlm/trajectory-text.ts"));

export const rlmRunTool = defineTool({
  name: "rlm_run",
  title: "Wait for a sub-agent, or look at it",
  description:
    "Wait for a sub-agent, get its state, cancel it, or read its trajectory: every turn with code, output and cost.",
  input: z.strictObject({
    run_id: z.string(),
    action: z.enum(["wait", "status", "cancel", "trajectory"]).default("wait"),
    wait: waitSeconds.describe("Seconds."),
  }),
  output: subAgentOutput.extend({ text: z.string().optional().describe("the trajectory") }),
  effect: "changes",
  isIdempotent: true,
  async call({ run_id, action, wait }, sandbox, { signal }) {
    const { subAgents } = await sandbox.models();
    if (action === "cancel") subAgents.cancel(run_id);
    const waitMs = action === "wait" ? wait * 1000 : action === "cancel" ? 10_000 : 0;
    const state = await subAgents.wait(run_id, { waitMs, signal });
    const { subAgentFacts, subAgentText } = await replying();
    const facts = subAgentFacts(state);
    if (action !== "trajectory") return { facts, text: subAgentText(sandbox, state) };
    if (state.trajectoryPath === undefined) {
      throw new CodecellError("not_supported", "this server does not record trajectories");
    }
    const { trajectoryForModel } = await reading();
    const text = await trajectoryForModel(state.trajectoryPath);
    return { facts: { ...facts, text }, text };
  },
});
