import { refusedText } from "../prompt/messages.ts";
import { checkOutputs } from "../signature/check-outputs.ts";
import type { RunAgent } from "./agent-result.ts";
import type { AgentState } from "./agent-state.ts";
import type { CellFunction } from "./cell.ts";
import { modelFunctions } from "./model-functions.ts";
import { subAgentFunctions } from "./sub-agents.ts";

/** Everything that an agent's code can call. */
export function agentFunctions(agent: AgentState, runAgent: RunAgent): Readonly<Record<string, CellFunction>> {
  return {
    ...modelFunctions(agent),
    ...subAgentFunctions(agent, runAgent),
    SUBMIT: {
      kind: "submit",
      description: "Checks the outputs and ends the task. Raises if they do not fit.",
      // Any value is let through to the check, whose errors say more than a schema's. Python itself finds missing ones.
      parameters: Object.fromEntries(
        agent.signature.outputs.map(({ name, description }) => [
          name,
          { schema: description === undefined ? {} : { description } },
        ]),
      ),
      call: async (input) => {
        const checked = checkOutputs(agent.signature, input);
        agent.submit(checked);
        if (!checked.ok) throw new RangeError(refusedText(checked.errors));
      },
    },
    SHOW_VARS: { kind: "show_vars", description: "Returns your variables and their types." },
    budget: {
      kind: "call",
      description: "Returns what is left of the budget; None: no limit.",
      parameters: {},
      call: async () => {
        const { calls, tokens, usd } = agent.budget.left;
        return {
          turns_left: agent.limits.maxIters - agent.turn,
          calls_left: calls,
          tokens_left: tokens,
          usd_left: usd,
          seconds_left: Math.round(agent.tree.leftMs / 1000),
          depth_left: agent.limits.maxDepth - agent.depth,
        };
      },
    },
  };
}
