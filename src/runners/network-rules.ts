import type { RuleName } from "../policy/rules.ts";
import type { Policy } from "../policy/schema.ts";
import { byOs, type Held } from "./answer-rules.ts";

type NetworkRule = Extract<RuleName, `net.${string}`>;

/**
 * The rows for the network of runners whose cells have sockets. The cell's own network stays empty, and its programs reach
 * only the host's proxy. `without` says what isolates a cell that has no network.
 */
export function networkRules(without: string): Readonly<Record<NetworkRule, (policy: Policy) => Held>> {
  const proxy = (how: string): Held => ({ by: "proxy", how });
  const unused = (entries: readonly string[]): Held =>
    byOs(entries.length > 0 ? "not used: the cell has no network" : "no network");
  const limit = (how: string) => (policy: Policy) => (policy.net.enabled ? proxy(how) : unused([]));
  return {
    "net.enabled": ({ net }) =>
      net.enabled
        ? proxy(`only through the host's proxy, at 127.0.0.1:3128; apart from it, ${without}`)
        : byOs(without),
    "net.allowlist": ({ net }) => {
      if (!net.enabled) return unused(net.allowlist);
      return proxy("checks host name, port and TLS server name; the host resolves names, and only to public addresses");
    },
    "net.deny": ({ net }) => (net.enabled ? proxy("checked before the allowlist") : unused(net.deny)),
    "net.inspect": ({ net }) => {
      if (!net.enabled) return unused(net.inspect);
      if (net.inspect.length === 0) return proxy("TLS is not decrypted");
      return proxy(
        "decrypts TLS with a certificate authority of this session that the cell trusts; verifies the servers",
      );
    },
    "net.rules": ({ net }) => {
      if (!net.enabled) return unused(net.rules.map(({ host }) => host));
      if (net.rules.length === 0) return proxy("every request to an allowed host");
      return proxy("checks each request; refuses ambiguous paths, and TLS that is not decrypted");
    },
    "net.secrets": ({ net }) => {
      if (!net.enabled) return unused(Object.keys(net.secrets));
      if (Object.keys(net.secrets).length === 0) return proxy("none");
      return proxy("the cell has a placeholder; the host inserts the value, and removes it from responses");
    },
    "net.connections": limit("more are refused"),
    "net.requests": limit("more are refused; a burst may have four times as many"),
    "net.sent": limit("counted in the proxy; at the limit connections are closed, and new ones refused"),
    "net.received": limit("counted in the proxy; at the limit connections are closed, and new ones refused"),
  };
}
