import { defaultSessionId } from "../../../service/tenants/tenant.ts";
import { sessionKey } from "../../../sessions/session-id.ts";
import type { Incoming, MountPeers } from "../gate.ts";
import type { Exchange, Forwarding } from "./forwarding.ts";

/** The other gateways, for a request of one tenant to a protocol such as MCP. */
export function mountPeers(
  forwarding: Forwarding,
  namespace: string,
  { request, response, gone }: Pick<Incoming, "request" | "response" | "gone">,
): MountPeers {
  const isForwarded = forwarding.isForwarded(request);
  const exchange = (body: Uint8Array | undefined): Exchange => ({ request, response, gone, body });
  return {
    isForwarded,
    async toGateway(id, body) {
      const peer = isForwarded ? undefined : await forwarding.peerNamed(id);
      if (peer) await forwarding.send(peer, exchange(body));
      return peer !== undefined;
    },
    async toSession(id = defaultSessionId, body) {
      const key = isForwarded ? undefined : keyOf(namespace, id);
      return key !== undefined && forwarding.passOn({ key, take: undefined }, exchange(body));
    },
    whileHeld: (answer) => forwarding.whileHeld(response, async () => {}, answer),
  };
}

/** Undefined: no session can have this id. The tool says so. */
function keyOf(namespace: string, id: string): string | undefined {
  try {
    return sessionKey(namespace, id);
  } catch {
    return undefined;
  }
}
