import { Agent, type ClientRequestArgs } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { Target } from "../rules/target.ts";

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
    return this.#kept().find((socket) => !socket.destroyed && socket.writable && socket.readable);
  }

  /**
   * Has the next request go over this connection. The attack: of two requests sent at once the second would take what the
   * first has just left, and the connection that was dialled for it would stay open for good, one more each time.
   */
  keepOnly(socket: Socket): void {
    for (const kept of this.#kept()) if (kept !== socket) kept.destroy();
  }

  /** Where none is kept, Node gets the one that was dialled for this very request. */
  override createConnection({ dialled }: DialledArgs): Duplex | null | undefined {
    return dialled;
  }

  #kept(): TLSSocket[] {
    return Object.values(this.freeSockets).flatMap((sockets) => sockets ?? []) as TLSSocket[];
  }
}
