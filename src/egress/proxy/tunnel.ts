import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Denial } from "../rules/decide.ts";
import type { EgressLimits } from "../rules/limits.ts";
import { admitClient } from "./admit-client.ts";
import type { Exchange } from "./exchange.ts";
import { takeTurns } from "./take-turns.ts";

export interface TunnelParts {
  readonly client: Duplex;
  /** bytes that came with the request; checked like all others */
  readonly early: Buffer;
  readonly upstream: Socket;
  readonly host: string;
  readonly needsTls: boolean;
  readonly exchange: Exchange;
  readonly limits: EgressLimits;
  readonly onRefused: (denial: Denial) => void;
}

/** Carries bytes both ways once the client's first bytes are known to be for the requested host. */
export function openTunnel(parts: TunnelParts): void {
  const { client, upstream, exchange, limits } = parts;
  const stop = () => {
    client.destroy();
    upstream.destroy();
  };
  exchange.stopsBy(stop);
  upstream.setTimeout(limits.idleMs, () => exchange.cut("the connection was idle for too long"));
  const halfClosed = () => upstream.setTimeout(limits.halfClosedMs);
  client.once("end", halfClosed);
  upstream.once("end", halfClosed);
  client.once("close", () => upstream.destroy());
  upstream.once("close", () => {
    if (!client.writableEnded) client.destroy();
    exchange.end();
  });
  if (client.destroyed || upstream.destroyed) {
    stop();
    return;
  }
  upstream.on("data", (bytes: Buffer) => exchange.received(bytes.length));
  upstream.pipe(client); // if no rule requires TLS, the server may send first
  takeTurns(upstream, client);
  admitClient({
    ...parts,
    onAdmitted: (checked) => {
      exchange.sent(checked.length);
      upstream.write(checked);
      client.on("data", (bytes: Buffer) => exchange.sent(bytes.length));
      client.pipe(upstream);
      takeTurns(client, upstream);
    },
    onRefused: (denial) => {
      upstream.unpipe(client);
      upstream.destroy();
      parts.onRefused(denial);
    },
    onEnded: () => upstream.end(),
  });
}
