import type { RuleName } from "../policy/rules.ts";
import type { Policy } from "../policy/schema.ts";
import { byKernel, type Held } from "./answer-rules.ts";

type NetworkRule = Extract<RuleName, `net.${string}`>;

/**
 * How runners whose cells have sockets answer for the network: the cell keeps its empty one, and what its programs send to
 * their proxy goes over the channel to the host's. `without` says what holds a cell that has no network.
 */
export function networkRules(without: string): Readonly<Record<NetworkRule, (policy: Policy) => Held>> {
  const proxy = (how: string): Held => ({ by: "proxy", how });
  const unused = (entries: readonly string[]): Held =>
    byKernel(entries.length > 0 ? "there is no network that it could apply to" : "no network");
  return {
    "net.enabled": ({ net }) =>
      net.enabled
        ? proxy(`through the host's proxy alone, at 127.0.0.1:3128; besides it, ${without}`)
        : byKernel(without),
    "net.allowlist": ({ net }) => {
      if (!net.enabled) return unused(net.allowlist);
      return proxy("by name, port and TLS server name; names are resolved on the host, to public addresses only");
    },
    "net.deny": ({ net }) => (net.enabled ? proxy("asked before the allowlist") : unused(net.deny)),
  };
}
