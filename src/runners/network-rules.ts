import type { RuleName } from "../policy/rules.ts";
import type { Policy } from "../policy/schema.ts";
import { byOs, type Held } from "./answer-rules.ts";

type NetworkRule = Extract<RuleName, `net.${string}`>;

/**
 * How runners whose cells have sockets answer for the network: the cell keeps its empty one, and what its programs send to
 * their proxy goes over the channel to the host's. `without` says what holds a cell that has no network.
 */
export function networkRules(without: string): Readonly<Record<NetworkRule, (policy: Policy) => Held>> {
  const proxy = (how: string): Held => ({ by: "proxy", how });
  const unused = (entries: readonly string[]): Held =>
    byOs(entries.length > 0 ? "there is no network that it could apply to" : "no network");
  const limit = (how: string) => (policy: Policy) => (policy.net.enabled ? proxy(how) : unused([]));
  return {
    "net.enabled": ({ net }) =>
      net.enabled ? proxy(`through the host's proxy alone, at 127.0.0.1:3128; besides it, ${without}`) : byOs(without),
    "net.allowlist": ({ net }) => {
      if (!net.enabled) return unused(net.allowlist);
      return proxy("by name, port and TLS server name; names are resolved on the host, to public addresses only");
    },
    "net.deny": ({ net }) => (net.enabled ? proxy("asked before the allowlist") : unused(net.deny)),
    "net.inspect": ({ net }) => {
      if (!net.enabled) return unused(net.inspect);
      if (net.inspect.length === 0) return proxy("no TLS is opened");
      return proxy("TLS ends in the proxy, by an authority of this session that the cell trusts; servers are verified");
    },
    "net.rules": ({ net }) => {
      if (!net.enabled) return unused(net.rules.map(({ host }) => host));
      if (net.rules.length === 0) return proxy("any request to a host that is allowed");
      return proxy("request by request; a path with two readings, and TLS that is not opened, are refused");
    },
    "net.secrets": ({ net }) => {
      if (!net.enabled) return unused(Object.keys(net.secrets));
      if (Object.keys(net.secrets).length === 0) return proxy("none");
      return proxy("the cell holds a placeholder; the value is put in on the host and taken out of answers");
    },
    "net.connections": limit("what is over it is refused"),
    "net.requests": limit("what is over it is refused; four times as many at once"),
    "net.sent": limit("counted as it passes; everything is cut and refused from then on"),
    "net.received": limit("counted as it passes; everything is cut and refused from then on"),
  };
}
