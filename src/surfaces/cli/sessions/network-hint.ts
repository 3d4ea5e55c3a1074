import type { Policy } from "../../../policy/schema.ts";
import type { RunResult } from "../../../sessions/runs/run.ts";

/** How the failure of a program looks that wanted a network. The text is the program's: it is only matched. */
const failures = /gaierror|Name or service not known|Temporary failure in name resolution|Network is unreachable/;

/** Why a program reached nothing, if the policy gives it no network. */
export function networkHint({ status, error }: RunResult, { net }: Policy): string | undefined {
  if (status !== "error" || net.enabled || error === undefined) return undefined;
  if (!failures.test(`${error.name}: ${error.message.slice(0, 8_000)}`)) return undefined;
  const wanted = net.allowlist.length > 0 ? "set net.enabled: true" : "set net.enabled and net.allowlist";
  return `the cell has no network: ${wanted} in the policy (docs/network.md)`;
}
