import type { HostCheck } from "../attack.ts";
import type { FinishHostCheck, HostCheckContext, StartHostCheck } from "./host-check.ts";
import { watchBeats } from "./watch-beats.ts";
import { watchCalls } from "./watch-calls.ts";
import { watchDisk } from "./watch-disk.ts";
import { watchMemory } from "./watch-memory.ts";
import { watchNeighbour } from "./watch-neighbour.ts";
import { watchProcesses } from "./watch-processes.ts";
import { watchResponses } from "./watch-responses.ts";
import { watchPlants, watchVoice } from "./watch-result.ts";
import { watchSession } from "./watch-session.ts";

/** The code behind each name. */
const hostChecks: Record<HostCheck, StartHostCheck> = {
  "process-survived": watchProcesses,
  "host-stalled": watchResponses,
  "neighbour-changed": watchNeighbour,
  "disk-filled": watchDisk,
  "memory-grew": watchMemory,
  "session-misled": watchSession,
  "still-beating": watchBeats,
  "voice-forged": watchVoice,
  "plant-untold": watchPlants,
  "call-forged": watchCalls,
};

/** Starts the checks. The function that is returned ends them, and says what the first of them saw. */
export async function startHostChecks(
  names: readonly HostCheck[],
  context: HostCheckContext,
): Promise<FinishHostCheck> {
  const started: FinishHostCheck[] = [];
  for (const name of names) started.push(await hostChecks[name](context));
  return async (result) => {
    const harms: (string | undefined)[] = [];
    // One after the other: what one asks of the session may delay another.
    for (const finish of started) harms.push(await finish(result));
    return harms.find((harm) => harm !== undefined);
  };
}
