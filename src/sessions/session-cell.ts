import type { CodecellError } from "../lib/errors.ts";
import type { RequestedRules } from "../policy/change/live-rules.ts";
import type { LiveSession } from "./live-session.ts";

/** @internal What the cell of a session needs of it. */
export interface SessionCellParts {
  /** starts a cell, with the saved state if there is one */
  readonly start: () => Promise<LiveSession>;
  /** called whenever the session is used */
  readonly onUse: () => void;
  /** called when rules are requested for the cell, by this session or by one that shares the cell */
  readonly onRequested: (rules: RequestedRules) => Promise<void>;
}

/** The cell of a session: started by the first call that needs one, and replaced when it is gone. */
export class SessionCell {
  readonly #parts: SessionCellParts;
  #live: LiveSession | undefined;
  #starting: Promise<LiveSession> | undefined;
  #closedBy: CodecellError | undefined;
  /** A cell may outlive the session in a fork, and must not hold on to it then. */
  #unsubscribe = () => {};

  constructor(parts: SessionCellParts, live?: LiveSession) {
    this.#parts = parts;
    this.#live = live;
    if (live) this.#subscribe(live);
  }

  /** The session in its cell; it may be dead. Undefined: no cell has started. */
  get live(): LiveSession | undefined {
    return this.#live;
  }

  get isStarting(): boolean {
    return this.#starting !== undefined;
  }

  get isClosed(): boolean {
    return this.#closedBy !== undefined;
  }

  /** The session in its cell, or undefined if a cell has to start first. Throws once the session is closed. */
  ready(): LiveSession | undefined {
    if (this.#closedBy) throw this.#closedBy;
    this.#parts.onUse();
    return this.#live?.isAlive ? this.#live : undefined;
  }

  /** The session in its cell, which starts if there is none. */
  async session(): Promise<LiveSession> {
    const ready = this.ready();
    if (ready) return ready;
    this.#starting ??= this.#replace().finally(() => {
      this.#starting = undefined;
    });
    this.#live = await this.#starting;
    return this.#live;
  }

  /** Ends the cell; the next call starts another one. */
  async release(): Promise<void> {
    const live = this.#live;
    this.#live = undefined;
    this.#unsubscribe();
    await live?.close();
  }

  /** Later calls throw `reason`; the cell stays. The first reason wins. */
  refuse(reason: CodecellError): void {
    this.#closedBy ??= reason;
  }

  /** Ends the cell for good. Later calls throw `reason`; the first reason wins. */
  async close(reason: CodecellError): Promise<void> {
    this.refuse(reason);
    await this.#starting?.catch(() => {});
    this.#unsubscribe();
    await this.#live?.close();
  }

  /** Closes a dead cell before the next one starts: it still holds control groups, descriptors and the workspace. */
  async #replace(): Promise<LiveSession> {
    await this.#live?.close();
    const session = await this.#parts.start();
    this.#subscribe(session);
    return session;
  }

  #subscribe(session: LiveSession): void {
    this.#unsubscribe();
    this.#unsubscribe = session.rules.onRequested(async (rules) => {
      // A closed or saved session does not change any more, even if its cell lives on in a fork.
      if (this.#live !== session || this.#closedBy) return;
      await this.#parts.onRequested(rules);
    });
  }
}
