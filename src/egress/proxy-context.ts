import type { Denial, EgressRequest, Permission } from "./decide.ts";
import type { Dialled } from "./dial.ts";
import type { Exchange } from "./exchange.ts";
import type { EgressLimits } from "./limits.ts";

/** What the protocols of the proxy need of the session they serve. */
export interface ProxyContext {
  readonly limits: EgressLimits;
  /** decides, by the rules in force and the limits; a refusal is recorded */
  ask(request: EgressRequest): Permission | Denial;
  /** records a refusal that was found later, or before there was a target */
  refuse(request: EgressRequest, denial: Denial, address?: string): void;
  begin(request: EgressRequest): Exchange;
  /** resolves, judges and connects; what came of it is recorded, and an exchange without a connection is over */
  dial(exchange: Exchange, permission: Permission): Promise<Dialled>;
}
