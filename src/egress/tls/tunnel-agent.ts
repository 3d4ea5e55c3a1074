import { Agent, type ClientRequestArgs } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { Target } from "../rules/target.ts";

/** An inspected tunnel: its TLS ends in the proxy. */
export interface OpenedTunnel extends Target {
  readonly agent: TunnelAgent;
}

/** Shorter than servers keep idle connections: a request on a connection that is just being closed gets no response. */
const keptMs = 3_000;

/** Our request options, in addition to Node's. */
export interface DialledArgs extends ClientRequestArgs {
  readonly dialled?: TLSSocket;
}

/**
 * Keeps the connection to a tunnel's server between requests, which saves a handshake for each. It belongs to this tunnel and
 * is closed with it: programs and hosts never share a connection.
 */
export class TunnelAgent extends Agent {
  constructor() {
    super({ keepAlive: true, maxFreeSockets: 1, timeout: keptMs });
  }

  /** The idle connection, if there is one. Node uses it for a request that is made in the same tick. */
  get free(): TLSSocket | undefined {
    return this.#kept().find((socket) => !socket.destroyed && socket.writable && socket.readable);
  }

  /**
   * Makes the next request use this connection. The attack: of two requests at once, the second takes the connection that the
   * first has just freed. The one that was dialled for it would stay open forever, one more each time.
   */
  keepOnly(socket: Socket): void {
    for (const kept of this.#kept()) if (kept !== socket) kept.destroy();
  }

  /** Without an idle connection, Node gets the one that was dialled for this request. */
  override createConnection({ dialled }: DialledArgs): Duplex | null | undefined {
    return dialled;
  }

  #kept(): TLSSocket[] {
    return Object.values(this.freeSockets).flatMap((sockets) => sockets ?? []) as TLSSocket[];
  }
}
