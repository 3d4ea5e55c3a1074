import type { Duplex } from "node:stream";
import type { SecureContext } from "node:tls";
import type { SessionKeys } from "../process/session-keys.ts";
import type { Denial, EgressRequest, EgressRules, Permission } from "../rules/decide.ts";
import type { EgressLimits } from "../rules/limits.ts";
import type { Target } from "../rules/target.ts";
import type { Dialled } from "./dial.ts";
import type { Exchange } from "./exchange.ts";

/** What the protocol handlers need from the session's proxy. */
export interface ProxyContext {
  readonly limits: EgressLimits;
  /** the rules in force */
  readonly rules: EgressRules;
  readonly keys: SessionKeys;
  /** certificate authorities for servers whose TLS is inspected */
  trust(): Promise<SecureContext>;
  /** decides by the rules in force and the limits; records a refusal */
  ask(request: EgressRequest): Permission | Denial;
  /** records a refusal that was decided elsewhere */
  refuse(request: EgressRequest, denial: Denial, address?: string): void;
  begin(request: EgressRequest): Exchange;
  /** resolves, checks and connects; records the outcome, and closes the exchange if it fails */
  dial(exchange: Exchange, permission: Permission): Promise<Dialled>;
  /** records an exchange that reuses a connection to the same host */
  resume(exchange: Exchange, permission: Permission): void;
  /** decrypts a client's TLS and serves its requests; undefined if the session has no certificate authority */
  readonly openTls: OpenTls | undefined;
}

export type OpenTls = (client: Duplex, early: Buffer, target: Target) => void;
