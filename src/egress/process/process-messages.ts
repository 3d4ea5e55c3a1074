import { z } from "zod";
import type { EgressRules } from "../rules/decide.ts";
import type { EgressTimes } from "../rules/limits.ts";
import type { SessionKeys } from "./session-keys.ts";

/** Set-up of the proxy's process, by the program that starts it. A policy cannot set it. */
export interface ProxySettings {
  /** private directory for the sessions' sockets */
  readonly directory: string;
  readonly fixedAddresses: Readonly<Record<string, string>>;
  readonly times: Partial<EgressTimes>;
  /** extra certificate authorities for servers whose TLS is inspected, in PEM */
  readonly authorities: readonly string[];
}

/** Messages to the proxy's process. */
export type ToProxy =
  | { readonly t: "configure"; readonly settings: ProxySettings }
  | { readonly t: "open"; readonly session: number; readonly rules: EgressRules; readonly keys: SessionKeys }
  /** comes with the listening socket of the session's cell */
  | { readonly t: "listen"; readonly session: number }
  | { readonly t: "update"; readonly session: number; readonly rules: EgressRules }
  | { readonly t: "close"; readonly session: number }
  /** answered when all earlier decisions have been reported */
  | { readonly t: "flush"; readonly session: number; readonly flush: number };

const session = z.int().min(1);
const via = z.enum(["http", "https", "connect", "socks"]);
const host = z.string().max(300);
const port = z.int().min(0).max(65_535);
const bytes = z.int().min(0);
const sentence = z.string().max(1000);

const event = z.discriminatedUnion("type", [
  z.object({ type: z.literal("allowed"), id: bytes, via, host, port, rule: sentence }),
  z.object({
    type: z.literal("denied"),
    ...{ via, host, port, reason: sentence, remedy: sentence },
    address: z.string().max(100).optional(),
    code: z.enum([
      ...["malformed", "network_off", "denied", "model_host", "not_named", "port_not_named", "needs_tls"],
      ...["socks_needs_port", "address", "server_name", "limit"],
      ...["not_inspected", "request", "secret"],
    ] as const),
  }),
  z.object({ type: z.literal("failed"), via, host, port, rule: sentence.optional(), reason: sentence }),
  z.object({
    type: z.enum(["progress", "closed"]),
    ...{ id: bytes, host, port, sentBytes: bytes, receivedBytes: bytes },
    failure: sentence.optional(),
  }),
]);

/** Messages from the proxy's process. It parses untrusted input, so its messages are validated like a cell's. */
export const fromProxy = z.discriminatedUnion("t", [
  z.object({ t: z.literal("opened"), session }),
  z.object({ t: z.literal("listening"), session }),
  z.object({ t: z.literal("refused"), session, reason: sentence }),
  z.object({ t: z.literal("event"), session, event }),
  z.object({ t: z.literal("flushed"), flush: bytes }),
]);
