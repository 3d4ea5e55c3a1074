import { randomBytes } from "node:crypto";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import { sharedAbort } from "../../lib/waiting/shared-abort.ts";
import type { GatewayDirectory, GatewayRow, LeaseGrant } from "../../store/gateway-directory.ts";
import { type Clock, systemClock } from "../runs/clock.ts";

export const defaultLeaseMs = 15_000;

export interface GatewayLeaseOptions {
  readonly directory: GatewayDirectory;
  readonly leaseMs?: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** After a time without a lease: all sessions but these were taken by others, and must end here without a save. */
  readonly onRejoined: (kept: ReadonlySet<string>) => Promise<void>;
  /** The lease was lost and is held again. Whoever was told of the loss wants to know; default: a warning in the log. */
  readonly onHeldAgain?: HeldAgain | undefined;
}

export type HeldAgain = (message: string, facts: { readonly gateway: string; readonly sessions: number }) => void;

type State =
  | { readonly name: "joining" }
  | { readonly name: "held"; readonly endsAt: number }
  | { readonly name: "lost"; readonly why: string }
  | { readonly name: "left" };

/** Tries that fail are repeated after this part of a lease. */
const retryPart = 15;

/**
 * The lease of this gateway. While it is held, nobody else takes its sessions. The time is measured from before each request to the
 * directory, by a clock that does not jump, so that this gateway stops before others may start.
 */
export class GatewayLease implements AsyncDisposable {
  readonly leaseMs: number;
  readonly #options: GatewayLeaseOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #id = `g-${randomBytes(5).toString("hex")}`;
  #url = "";
  #state: State = { name: "joining" };
  /** every request for a session listens while it is answered */
  #lost = sharedAbort();
  #peers: LeaseGrant["peers"] = [];
  /** the directory's clock minus ours */
  #aheadMs = 0;
  #stopTimer = () => {};
  #stopDeadline = () => {};
  #asking: Promise<void> = Promise.resolve();
  readonly #peersChanged = new Set<() => void>();

  constructor(options: GatewayLeaseOptions) {
    this.#options = options;
    this.leaseMs = options.leaseMs ?? defaultLeaseMs;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
  }

  /** Joins the other gateways. Sessions can be opened from then on. */
  async join(url: string): Promise<void> {
    this.#url = url;
    await this.#join();
    this.#plan(this.leaseMs / 3);
  }

  /** One for each process: a gateway that starts again is another one. */
  get id(): string {
    return this.#id;
  }

  /** The other gateways that were alive at the last renewal. */
  get peers(): readonly Pick<GatewayRow, "id" | "url">[] {
    return this.#peers;
  }

  /** The time of the directory. */
  get nowMs(): number {
    return this.#clock.now() + this.#aheadMs;
  }

  /** Asks the clock each time: a process that was stopped has not run its timers. */
  get isHeld(): boolean {
    if (this.#state.name !== "held") return false;
    if (this.#clock.now() < this.#state.endsAt) return true;
    this.#lose("it could not be renewed in time");
    return false;
  }

  /** Why the gateway does not serve sessions; undefined: it does. */
  get problem(): string | undefined {
    if (this.isHeld) return undefined;
    const state = this.#state;
    if (state.name === "lost") return `this gateway lost its lease: ${state.why}`;
    return state.name === "left" ? "this gateway is stopping" : "this gateway has not joined the others yet";
  }

  /** Aborted when this lease is lost. The next lease has another signal. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  assertHeld(): void {
    const { problem } = this;
    if (problem === undefined) return;
    throw new CodecellError("service_unavailable", problem, { hint: "try again; another gateway may answer" });
  }

  /** Calls back when gateways joined or were lost. */
  onPeersChanged(listener: () => void): Disposable {
    this.#peersChanged.add(listener);
    return { [Symbol.dispose]: () => this.#peersChanged.delete(listener) };
  }

  /** Leaves the others, who need not wait for the end of the lease. The sessions must be closed by then. */
  async [Symbol.asyncDispose](): Promise<void> {
    const wasHeld = this.#state.name === "held";
    this.#stopTimer();
    this.#stopDeadline();
    await this.#asking;
    this.#stopTimer();
    this.#state = { name: "left" };
    this.#lost.abort();
    if (wasHeld) await this.#options.directory.leave(this.#id).catch((error: unknown) => this.#warn(error));
  }

  #plan(delayMs: number): void {
    this.#stopTimer();
    this.#stopTimer = this.#clock.after(delayMs, () => {
      this.#asking = this.#renew();
    });
  }

  async #renew(): Promise<void> {
    try {
      if (this.isHeld) await this.#extend();
      if (!this.isHeld) await this.#rejoin();
      if (this.#state.name !== "left") this.#plan(this.leaseMs / 3);
    } catch (error) {
      this.#warn(error);
      if (this.#state.name !== "left") this.#plan(this.leaseMs / retryPart);
    }
  }

  async #extend(): Promise<void> {
    const askedAt = this.#clock.now();
    const grant = await this.#options.directory.renew(this.#id, this.leaseMs);
    // An answer that came too late is worth nothing: this gateway has said already that its sessions are free.
    if (grant && this.isHeld) this.#hold(grant, askedAt);
    else this.#lose("it ended before it was renewed");
  }

  /** Sessions that nobody took meanwhile go on where they were. */
  async #rejoin(): Promise<void> {
    const { grant, askedAt } = await this.#ask();
    // Asked after the lease was given: from then on nobody takes another one.
    const kept = await this.#options.directory.owned(this.#id);
    await this.#options.onRejoined(new Set(kept));
    this.#hold(grant, askedAt);
    const tell: HeldAgain = this.#options.onHeldAgain ?? ((message, facts) => this.#logger.warn(message, facts));
    tell("this gateway holds a lease again and serves its sessions", { gateway: this.#id, sessions: kept.length });
  }

  async #join(): Promise<void> {
    const { grant, askedAt } = await this.#ask();
    this.#hold(grant, askedAt);
  }

  async #ask(): Promise<{ grant: LeaseGrant; askedAt: number }> {
    const askedAt = this.#clock.now();
    const { leaseMs } = this;
    const grant = await this.#options.directory.join({ id: this.#id, url: this.#url, leaseMs });
    return { grant, askedAt };
  }

  #hold({ nowMs, peers }: LeaseGrant, askedAt: number): void {
    const endsAt = askedAt + this.leaseMs;
    this.#aheadMs = nowMs - this.#clock.now();
    this.#state = { name: "held", endsAt };
    if (this.#lost.signal.aborted) this.#lost = sharedAbort();
    this.#stopDeadline();
    this.#stopDeadline = this.#clock.after(endsAt - this.#clock.now(), () => void this.isHeld);
    const isSame = peers.map(({ id }) => id).join() === this.#peers.map(({ id }) => id).join();
    this.#peers = peers;
    if (!isSame) for (const listener of this.#peersChanged) listener();
  }

  #lose(why: string): void {
    if (this.#state.name !== "held") return;
    this.#state = { name: "lost", why };
    this.#stopDeadline();
    this.#logger.error("this gateway lost its lease and serves no session until it has another one", { why });
    this.#lost.abort(new CodecellError("service_unavailable", `this gateway lost its lease: ${why}`));
  }

  #warn(error: unknown): void {
    this.#logger.warn("the lease could not be renewed", { error: messageOf(error) });
  }
}
