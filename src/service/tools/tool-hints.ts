import { writableHostPaths } from "../../policy/paths/host-grants.ts";
import type { Policy } from "../../policy/schema.ts";
import type { Tool } from "./tool.ts";

/** What the policy lets code do outside its cell. */
export interface HostEffects {
  readonly writesHost: boolean;
  readonly reachesNetwork: boolean;
}

/** What a policy lets code do outside its cell. */
export function hostEffects(policy: Policy): HostEffects {
  return { writesHost: writableHostPaths(policy).length > 0, reachesNetwork: policy.net.enabled };
}

/** What a client shows about a tool. The names are those of MCP's annotations. */
export interface ToolHints {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** What a client shows about a tool before the user allows a call. */
export function toolHints(
  { effect, isIdempotent }: Pick<Tool, "effect" | "isIdempotent">,
  { writesHost, reachesNetwork }: HostEffects,
): ToolHints {
  return {
    readOnlyHint: effect === "reads",
    destructiveHint: effect === "destroys" || (effect === "code" && writesHost),
    idempotentHint: isIdempotent ?? effect === "reads",
    openWorldHint: effect === "code" && reachesNetwork,
  };
}
