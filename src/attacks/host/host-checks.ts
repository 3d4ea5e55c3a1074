import type { HostCheck } from "../attack.ts";
import type { HostCheckContext, StartHostCheck } from "./host-check.ts";
import { watchDisk } from "./watch-disk.ts";
import { watchMemory } from "./watch-memory.ts";
import { watchNeighbour } from "./watch-neighbour.ts";
import { watchProcesses } from "./watch-processes.ts";
import { watchResponses } from "./watch-responses.ts";

/** The code behind each name. */
const hostChecks: Record<HostCheck, StartHostCheck> = {
  "process-survived": watchProcesses,
  "host-stalled": watchResponses,
  "neighbour-changed": watchNeighbour,
  "disk-filled": watchDisk,
  "memory-grew": watchMemory,
};

/** Starts the checks. The function that is returned ends them, and says what the first of them saw. */
export async function startHostChecks(
  names: readonly HostCheck[],
  context: HostCheckContext,
): Promise<() => Promise<string | undefined>> {
  const started: (() => Promise<string | undefined>)[] = [];
  for (const name of names) started.push(await hostChecks[name](context));
  return async () => {
    const harms = await Promise.all(started.map((finish) => finish()));
    return harms.find((harm) => harm !== undefined);
  };
}
