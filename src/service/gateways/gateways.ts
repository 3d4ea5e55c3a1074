import { CodecellError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/log/logger.ts";
import type { GatewayDirectory, GatewayRow, ListedSession } from "../../store/gateway-directory.ts";
import type { Clock } from "../runs/clock.ts";
import { GatewayLease, type HeldAgain } from "./gateway-lease.ts";
import { signerOf, signForward } from "./peer-signature.ts";
import { routeOf, type SessionRoute } from "./session-route.ts";
import { type KeyedRequest, startOnce } from "./start-once.ts";

export interface GatewaysOptions {
  readonly directory: GatewayDirectory;
  readonly leaseMs?: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly onHeldAgain?: HeldAgain;
}

/** What this gateway knows of its sessions. */
export interface OwnSessions {
  isOpen(key: string): boolean;
  aliveIds(): string[];
  abandon(key: string, why: string): Promise<void>;
}

/** A request, as far as its signature has to do with it. */
export interface SignedRequest {
  readonly method: string;
  /** path and query */
  readonly target: string;
}

/** This gateway among the others: its lease, who answers for a session, and what peers sign for each other. */
export class Gateways implements AsyncDisposable {
  readonly lease: GatewayLease;
  readonly #directory: GatewayDirectory;
  #own: OwnSessions | undefined;
  #key: Uint8Array | undefined;

  constructor({ directory, ...options }: GatewaysOptions) {
    this.#directory = directory;
    this.lease = new GatewayLease({ ...options, directory, onRejoined: (kept) => this.#abandonAllBut(kept) });
  }

  /** Joins the others. `url` is how they reach this gateway. */
  async join(url: string, own: OwnSessions): Promise<void> {
    this.#own = own;
    this.#key = await this.#directory.sharedKey("forward");
    await this.lease.join(url);
  }

  /** Who answers for a session. A session that is open here takes no question to the directory. */
  async route(key: string): Promise<SessionRoute> {
    this.lease.assertHeld();
    if (this.#own?.isOpen(key)) return { to: "here" };
    return routeOf(await this.#directory.find(key), this.lease.id);
  }

  /** The same for what a gateway has in its memory, such as a run. If the gateway is gone, this one says that it is unknown. */
  async routeTo(gateway: string): Promise<SessionRoute> {
    if (this.lease.id === gateway) return { to: "here" };
    const url = await this.#directory.urlOf(gateway);
    return url === undefined ? { to: "here" } : { to: "peer", id: gateway, url };
  }

  list(): Promise<GatewayRow[]> {
    return this.#directory.list();
  }

  sessions(prefix: string): Promise<ListedSession[]> {
    return this.#directory.sessions(prefix);
  }

  /** Starts a run, unless any gateway has started one for its idempotency key. */
  startOnce<Started>(request: KeyedRequest, start: () => Promise<Started>): Promise<Started> {
    return startOnce(this.#directory, this.lease.id, request, start);
  }

  /** The header of a request that is passed on to a peer. */
  sign(to: string, request: SignedRequest): string {
    return signForward(this.#forwardKey(), { from: this.lease.id, to, atMs: this.lease.nowMs, ...request });
  }

  /** The peer that passed this request on; undefined: the header is forged, old, or for another request. */
  signer(header: string, request: SignedRequest): string | undefined {
    const { id: me, nowMs } = this.lease;
    return signerOf(this.#forwardKey(), header, { me, nowMs, ...request });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.lease[Symbol.asyncDispose]();
  }

  #forwardKey(): Uint8Array {
    if (this.#key) return this.#key;
    throw new CodecellError("service_unavailable", "this gateway has not joined the others yet", { hint: "try again" });
  }

  /** Nobody waits for the cells to end: from here on the sessions are not open here. */
  async #abandonAllBut(kept: ReadonlySet<string>): Promise<void> {
    const why = "this gateway lost its lease, and another gateway continues the session";
    for (const key of this.#own?.aliveIds() ?? []) if (!kept.has(key)) void this.#own?.abandon(key, why);
  }
}
