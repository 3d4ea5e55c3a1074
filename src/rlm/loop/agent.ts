import { CodecellError, messageOf } from "../../lib/errors.ts";
import { signatureText } from "../signature/signature.ts";
import { agentFunctions } from "./agent-functions.ts";
import { AgentLoop } from "./agent-loop.ts";
import type { AgentPlace, AgentResult, Ending } from "./agent-result.ts";
import type { AgentState } from "./agent-state.ts";
import type { CellCall, CellFunction } from "./cell.ts";
import { recorded, TreeStopped } from "./tree.ts";

/** Outputs that are longer are not recorded. */
const recordedOutputChars = 100_000;
/** Runs one agent to its end. It never throws: every failure is a way to finish. */
export async function runAgent(agent: AgentState, place: AgentPlace): Promise<AgentResult> {
  const { tree, limits, signature } = agent;
  const { instructions } = signature;
  tree.record({
    ...{ type: "run_start", run: agent.id, parent: place.parent, depth: agent.depth, inputs: [...place.inputs] },
    ...{ model: tree.options.rootModel, subModel: tree.options.subModel, limits: { ...limits } },
    ...{ signature: signatureText(signature), ...(instructions !== undefined && { instructions }) },
  });
  const result = { ...(await finishOf(agent, place)), turns: agent.turn };
  // Otherwise calls that the code left behind would be recorded after the end, and missing in the sum of costs.
  await agent.settled();
  const outputs = result.outputs === undefined ? undefined : JSON.stringify(result.outputs);
  const isShort = outputs !== undefined && outputs.length <= recordedOutputChars;
  tree.record({
    ...{ type: "finish", run: agent.id, finish: result.finish, turns: agent.turn },
    ...(isShort && { outputs: { ...result.outputs } }),
    ...(outputs !== undefined && !isShort && { outputsChars: outputs.length }),
    ...(result.limit !== undefined && { limit: result.limit }),
    ...(result.message !== undefined && { message: recorded(result.message) }),
  });
  return result;
}

function trackedFunctions(agent: AgentState): Readonly<Record<string, CellFunction>> {
  const tracked = Object.entries(agentFunctions(agent, runAgent)).map(([name, one]) => {
    if (one.kind === "show_vars") return [name, one] as const;
    const call = (input: never, context: CellCall) => agent.track(one.call(input, context) as Promise<never>);
    return [name, { ...one, call }] as const;
  });
  return Object.fromEntries(tracked) as Readonly<Record<string, CellFunction>>;
}

async function finishOf(agent: AgentState, place: AgentPlace): Promise<Ending> {
  try {
    await using _functions = await place.cell.expose(trackedFunctions(agent));
    return await new AgentLoop(agent, place).run();
  } catch (error) {
    return failure(agent, error, place.signal);
  }
}

function failure(agent: AgentState, error: unknown, signal: AbortSignal): Ending {
  const stopped = [agent.tree.signal.reason, error].find((reason) => reason instanceof TreeStopped);
  if (stopped?.stop.kind === "time") return { finish: "limit:time", limit: "time", message: stopped.message };
  if (stopped) return { finish: "cancelled", message: stopped.message };
  if (signal.aborted) return { finish: "cancelled", message: "the code that started this sub-agent has ended" };
  const known =
    error instanceof CodecellError ? error : new CodecellError("internal", messageOf(error), { cause: error });
  return { finish: "error", message: known.message, error: known };
}
