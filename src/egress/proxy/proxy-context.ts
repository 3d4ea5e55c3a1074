import type { Duplex } from "node:stream";
import type { SecureContext } from "node:tls";
import type { SessionKeys } from "../process/session-keys.ts";
import type { Denial, EgressRequest, EgressRules, Permission } from "../rules/decide.ts";
import type { EgressLimits } from "../rules/limits.ts";
import type { Target } from "../rules/target.ts";
import type { Dialled } from "./dial.ts";
import type { Exchange } from "./exchange.ts";

/** What the protocols of the proxy need of the session they serve. */
export interface ProxyContext {
  readonly limits: EgressLimits;
  /** in force now */
  readonly rules: EgressRules;
  readonly keys: SessionKeys;
  /** the authorities by which servers are judged whose TLS is opened */
  trust(): Promise<SecureContext>;
  /** decides, by the rules in force and the limits; a refusal is recorded */
  ask(request: EgressRequest): Permission | Denial;
  /** records a refusal that was found later, or before there was a target */
  refuse(request: EgressRequest, denial: Denial, address?: string): void;
  begin(request: EgressRequest): Exchange;
  /** resolves, judges and connects; what came of it is recorded, and an exchange without a connection is over */
  dial(exchange: Exchange, permission: Permission): Promise<Dialled>;
  /** records an exchange that goes over a connection of before, which was dialled for the same host */
  resume(exchange: Exchange, permission: Permission): void;
  /** opens the TLS of a client and serves the requests in it; undefined where this session has no authority to */
  readonly openTls: OpenTls | undefined;
}

export type OpenTls = (client: Duplex, early: Buffer, target: Target) => void;
