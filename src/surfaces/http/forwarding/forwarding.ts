import { Agent, type IncomingMessage, type ServerResponse } from "node:http";
import { CodecellError } from "../../../lib/errors.ts";
import type { Gateways } from "../../../service/gateways/gateways.ts";
import { forwardedHeader } from "../../../service/gateways/peer-signature.ts";
import type { SessionRoute } from "../../../service/gateways/session-route.ts";
import type { Codecell } from "../../../sessions/codecell.ts";
import { HttpError } from "../answers/error-status.ts";
import type { Reply } from "../route.ts";
import { forwardRequest, type Peer } from "./forward-request.ts";

/** A request and its response. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** aborted when the client disconnects */
  readonly gone: () => AbortSignal;
  /** the body, if it was read already */
  readonly body?: Uint8Array | undefined;
}

export interface RoutedSession {
  /** full id with the tenant's namespace */
  readonly key: string;
  /** Opens the session here, if nobody has it: before the body is read, so that the request can still be passed on. */
  readonly take: (() => Promise<unknown>) | undefined;
}

const connectMs = 3_000;
/** how often a session may move between the question and the attempt to open it */
const maxMoves = 3;

/** Requests for sessions of other gateways: which they are, how they get there, and which came from there. */
export class Forwarding implements Disposable {
  readonly #gateways: Gateways;
  readonly #codecell: Pick<Codecell, "isOpen">;
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: 64, timeout: 30_000 });
  readonly #fromPeers = new WeakSet<IncomingMessage>();
  readonly #counts = { sent: 0, received: 0, failed: 0 };

  constructor(gateways: Gateways, codecell: Pick<Codecell, "isOpen">) {
    this.#gateways = gateways;
    this.#codecell = codecell;
  }

  /** Requests since the start: passed on to peers, got from peers, and passed on without an answer. */
  get counts(): { readonly sent: number; readonly received: number; readonly failed: number } {
    return this.#counts;
  }

  /**
   * Whether a peer passed this request on. Throws if it only says so. The attack: a client that passes for a gateway would not be
   * forwarded, and its Host and Origin would not be checked.
   */
  isFromPeer(request: IncomingMessage): boolean {
    const header = request.headers[forwardedHeader];
    if (header === undefined) return false;
    const { method = "", url: target = "" } = request;
    const signer = typeof header === "string" ? this.#gateways.signer(header, { method, target }) : undefined;
    if (signer === undefined) throw new HttpError("forbidden", `${forwardedHeader} is not signed by a gateway`);
    this.#counts.received++;
    this.#fromPeers.add(request);
    return true;
  }

  /** Whether `isFromPeer` has seen that a peer passed it on. */
  isForwarded(request: IncomingMessage): boolean {
    return this.#fromPeers.has(request);
  }

  /** Passes a request on if another gateway has the session. False: this gateway answers it. */
  async passOn(session: RoutedSession, exchange: Exchange): Promise<boolean> {
    const route = await this.#routeOf(session);
    if (route.to === "here") return false;
    await this.send(route, exchange);
    return true;
  }

  /** Makes a reply here, unless another gateway has the session, or gets it in the same moment. Its body was read already. */
  async unlessElsewhere(
    key: string,
    read: { readonly request: IncomingMessage; readonly body: Uint8Array },
    make: () => Promise<Reply>,
  ): Promise<Reply> {
    for (let moves = 0; ; moves++) {
      const route = await this.#gateways.route(key);
      if (route.to === "peer") {
        return { send: (response, signal) => this.send(route, { ...read, response, gone: () => signal }) };
      }
      try {
        return await make();
      } catch (error) {
        if (!isTakenElsewhere(error) || moves >= maxMoves) throw error;
      }
    }
  }

  /** The other gateway with this id; undefined: it is this one, or it is gone. */
  async peerNamed(gateway: string): Promise<Peer | undefined> {
    const route = await this.#gateways.routeTo(gateway);
    return route.to === "peer" ? route : undefined;
  }

  /**
   * Answers for a session, as long as this gateway holds its lease. Afterwards another one may have the session, so what this one
   * still has in memory is no answer.
   */
  async whileHeld<T>(
    response: ServerResponse,
    make: () => Promise<T>,
    send: (made: T) => Promise<void>,
  ): Promise<void> {
    const { lease } = this.#gateways;
    lease.assertHeld();
    const { lost } = lease;
    let end = () => {};
    const ended = new Promise<never>((_, reject) => {
      end = () => {
        if (response.headersSent) response.destroy(); // an incomplete response must not look complete
        reject(lost.reason);
      };
      lost.addEventListener("abort", end, { once: true });
    });
    const answer = async () => {
      const made = await make();
      lease.assertHeld(); // a process that was stopped meanwhile has not heard of the end
      await send(made);
    };
    try {
      await Promise.race([answer(), ended]);
    } finally {
      lost.removeEventListener("abort", end);
    }
  }

  /** Passes a request on, once. Returns when the response is sent. */
  async send(peer: Peer, { request, response, gone, body }: Exchange): Promise<void> {
    if (this.#fromPeers.has(request)) {
      // Never twice: two gateways that disagree would pass it on for ever.
      throw new CodecellError("service_unavailable", "the session moved to another gateway while the request arrived", {
        hint: "try again",
      });
    }
    const { method = "", url: target = "" } = request;
    const signature = this.#gateways.sign(peer.id, { method, target });
    const ended = new AbortController();
    const end = () => ended.abort();
    // The attack: a client that leaves while its session is looked up. Nothing would tell of it again, and its place stay taken.
    if (gone().aborted) end();
    gone().addEventListener("abort", end, { once: true });
    // A peer that was lost without closing its connections would be waited for without an end.
    using _peers = this.#gateways.lease.onPeersChanged(() => {
      if (!this.#gateways.lease.peers.some(({ id }) => id === peer.id)) end();
    });
    this.#counts.sent++;
    try {
      const options = { signature, agent: this.#agent, connectMs, signal: ended.signal, body };
      await forwardRequest(request, response, peer, options);
    } catch (error) {
      this.#counts.failed++;
      throw error;
    } finally {
      gone().removeEventListener("abort", end);
    }
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  async #routeOf({ key, take }: RoutedSession): Promise<SessionRoute> {
    for (let moves = 0; ; moves++) {
      const route = await this.#gateways.route(key);
      if (route.to !== "here" || !take || this.#codecell.isOpen(key)) return route;
      try {
        await take();
        return route;
      } catch (error) {
        if (!isTakenElsewhere(error) || moves >= maxMoves) throw error;
      }
    }
  }
}

/** Whether another gateway opened the session first. */
export function isTakenElsewhere(error: unknown): boolean {
  return error instanceof CodecellError && error.code === "session_busy" && error.details.reason === "open_elsewhere";
}
