import type { SessionPlace } from "../../store/gateway-directory.ts";

/** Who answers a request for a session. */
export type SessionRoute =
  /** This gateway: it has the session, or nobody has. It adopts a saved one, and says of the others that they are gone. */
  | { readonly to: "here" }
  /** Another gateway that is alive has it open. */
  | { readonly to: "peer"; readonly id: string; readonly url: string };

/** Pure: what the directory says in, who answers out. `me` is this gateway. */
export function routeOf(place: SessionPlace | undefined, me: string): SessionRoute {
  const owner = place?.owner;
  if (!owner?.isAlive || owner.id === me || owner.url === undefined) return { to: "here" };
  return { to: "peer", id: owner.id, url: owner.url };
}
