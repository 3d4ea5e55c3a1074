import { Agent, type ClientRequestArgs } from "node:http";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { Target } from "./target.ts";

/** A tunnel whose TLS ends in the proxy. */
export interface OpenedTunnel extends Target {
  readonly agent: TunnelAgent;
}

/** Shorter than servers keep a connection: one that is closed while a request is on its way answers nothing. */
const keptMs = 3_000;

/** What a request is sent with, besides what Node knows. */
export interface DialledArgs extends ClientRequestArgs {
  readonly dialled?: TLSSocket;
}

/**
 * Keeps the connection to a tunnel's server between two of its requests, which saves a handshake for each. It belongs to
 * this one tunnel and ends with it: no two programs, and no two hosts, ever share one.
 */
export class TunnelAgent extends Agent {
  constructor() {
    super({ keepAlive: true, maxFreeSockets: 1, timeout: keptMs });
  }

  /** The connection that is kept now. Node takes it for a request that is made before anything else happens. */
  get free(): TLSSocket | undefined {
    const kept = Object.values(this.freeSockets).flatMap((sockets) => sockets ?? []);
    return kept.find((socket) => !socket.destroyed && socket.writable) as TLSSocket | undefined;
  }

  /** Where none is kept, Node gets the one that was dialled for this very request. */
  override createConnection({ dialled }: DialledArgs): Duplex | null | undefined {
    return dialled;
  }
}
