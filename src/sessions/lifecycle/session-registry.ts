import { Cleanup } from "../../lib/cleanup.ts";
import type { Logger } from "../../lib/log/logger.ts";
import type { Policy } from "../../policy/schema.ts";
import type { Session } from "../session.ts";
import type { SessionAudit } from "../session-audit.ts";
import type { OwnedStore } from "../storage/owned-store.ts";
import type { HeldSession } from "../storage/session-storage.ts";
import type { Tombstones } from "./tombstones.ts";
import { watchAge } from "./watch-age.ts";

/** Where a session that opens comes from. */
export type Origin = { readonly from: "new" | "saved" } | { readonly from: "fork"; readonly of: string };

/** How a session ends. */
interface Ending {
  readonly save: boolean;
  /** another process has it now: nothing that is stored may change */
  readonly isAbandoned?: boolean;
  /** for later calls, if its caller did not ask for it */
  readonly why?: string;
}

interface Entry {
  readonly session: Session;
  readonly held: HeldSession | undefined;
  readonly age: { stop(): void };
}

export interface SessionRegistryOptions {
  readonly policy: () => Policy;
  readonly store: OwnedStore;
  readonly tombstones: Tombstones;
  readonly audit: SessionAudit | undefined;
  readonly logger: Logger;
  /** called when a session has closed and its slot is free */
  readonly onClosed: () => void;
}

/** The sessions of a codecell by id: those that are open, those that are opening, and those that are closing. */
export class SessionRegistry {
  readonly #options: SessionRegistryOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #opening = new Map<string, Promise<Session>>();
  /** sessions that are saved and ended right now: whoever asks for one of these ids waits */
  readonly #closing = new Map<string, Promise<void>>();

  constructor(options: SessionRegistryOptions) {
    this.#options = options;
  }

  /** How many sessions have a cell: open or closing. */
  get size(): number {
    return this.#entries.size + this.#closing.size;
  }

  /** Ids of the sessions that are open or opening. */
  get ids(): string[] {
    return [...this.#entries.keys(), ...this.#opening.keys()];
  }

  get open(): Session[] {
    return [...this.#entries.values()].map(({ session }) => session);
  }

  /** The open session with this id; unlike `find`, it never tells that one expired. */
  peek(id: string): Session | undefined {
    return this.#entries.get(id)?.session;
  }

  has(id: string): boolean {
    return this.#entries.has(id) || this.#opening.has(id);
  }

  /** Waits until a session with this id is not closing any more. */
  async closed(id: string): Promise<void> {
    await this.#closing.get(id);
  }

  /** The session that is open or opening under this id. Throws once if the session expired. */
  find(id: string): Session | Promise<Session> | undefined {
    const known = this.#entries.get(id)?.session ?? this.#opening.get(id);
    if (!known) this.#options.tombstones.tellOnce(id);
    return known;
  }

  /** Reserves the id while the session opens. A second session under the same id could never be closed. */
  openAs(id: string, session: Promise<Session>): Promise<Session> {
    const opening = session.finally(() => this.#opening.delete(id));
    this.#opening.set(id, opening);
    return opening;
  }

  /** Adds an open session, which now ages. */
  add(session: Session, held: HeldSession | undefined, origin: Origin): void {
    const { policy, store, audit } = this.#options;
    const { record } = session;
    const age = watchAge(session.managed, policy().session, (why) => void this.#expire(session.key, why));
    this.#entries.set(record.id, { session, held, age });
    store.use(record.workspace);
    audit?.sessionOpened(record.id, session.runner, origin.from, origin.from === "fork" ? origin.of : undefined);
  }

  /** Closes a session, and says whether it was open. */
  async close(id: string, how: Ending): Promise<boolean> {
    // No await if nothing is under way: whoever asks for the id from now on gets another session.
    if (this.#opening.has(id)) await this.#opening.get(id)?.catch(() => {});
    if (this.#closing.has(id)) await this.#closing.get(id);
    const entry = this.#entries.get(id);
    if (entry) await this.#dismiss(entry, how);
    return entry !== undefined;
  }

  /** Closes every session, those that are still opening too. */
  async closeAll(how: { save: boolean }): Promise<void> {
    await Promise.allSettled(this.#opening.values());
    for (const entry of this.#entries.values()) void this.#dismiss(entry, how);
    await Promise.all(this.#closing.values());
  }

  /** Closes a session without a request of its caller. A persistent one is saved. */
  async #expire(id: string, why: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (!entry) return;
    const { policy, logger, tombstones } = this.#options;
    const { persist } = policy().session;
    logger.info("a session expired", { id, why });
    if (!persist) tombstones.add(id, why);
    await this.#dismiss(entry, { save: persist, why });
  }

  /** Saves or removes a session and ends its cell. Never rejects: the log says what failed. */
  #dismiss(entry: Entry, how: Ending): Promise<void> {
    const { key: id } = entry.session;
    const { logger, onClosed } = this.#options;
    this.#entries.delete(id);
    const closing = this.#end(entry, how)
      .catch((error: unknown) => logger.warn("a session could not be closed cleanly", { id, error }))
      .finally(() => {
        this.#closing.delete(id);
        onClosed();
      });
    this.#closing.set(id, closing);
    return closing;
  }

  async #end({ session, held, age }: Entry, { save, isAbandoned = false, why }: Ending): Promise<void> {
    const { store, audit, logger } = this.#options;
    const { key: id, managed } = session;
    age.stop();
    await using cleanup = new Cleanup();
    cleanup.defer(() => held?.[Symbol.asyncDispose]());
    const { workspace } = managed.record;
    try {
      if (save) await managed.suspend(why);
    } catch (error) {
      logger.warn("a session could not be saved", { id, error });
    } finally {
      await managed.end(why);
      audit?.sessionClosed(id, save || isAbandoned, why);
      store.leave(workspace);
    }
    if (isAbandoned) await store.removeWorkspace(workspace);
    else if (!save) await store.remove(held, workspace);
  }
}
