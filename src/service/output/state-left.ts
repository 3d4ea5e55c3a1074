import type { RunResult } from "../../sessions/runs/run.ts";

/** What a crash left of the variables, for the first line of a result. Empty: everything. */
export function stateLeft({ state, recoveredTo = 0 }: Pick<RunResult, "state" | "recoveredTo">): string[] {
  if (state === "kept") return [];
  if (state === "lost") return ["variables are lost"];
  return [recoveredTo > 0 ? `variables as after run ${recoveredTo}` : "variables as before the first run"];
}
