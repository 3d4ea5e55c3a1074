import { randomBytes } from "node:crypto";
import { Cleanup } from "../lib/cleanup.ts";
import { CodecellError } from "../lib/errors.ts";
import { type LivenessLock, takeLock } from "../lib/liveness-lock.ts";
import { type Logger, silentLogger } from "../lib/logger.ts";
import { openRuntimeDirectory } from "../lib/runtime-directory.ts";
import { stateDirectory } from "../lib/state-directory.ts";
import type { Policy } from "../policy/schema.ts";
import { formatDuration } from "../policy/units.ts";
import type { SandboxRunner } from "../runners/runner.ts";
import { Codecell } from "./codecell.ts";
import { ManagedSession, type SessionInfo } from "./managed-session.ts";
import { ownerLock, removeOrphans } from "./remove-orphans.ts";
import type { Session } from "./session.ts";
import { checkSessionId, newSessionId } from "./session-id.ts";
import { lockSession } from "./session-lock.ts";
import { type SessionRecord, SessionStore } from "./store.ts";
import { type PoolStatistics, WarmPool } from "./warm-pool.ts";

export interface ManagerOptions {
  readonly policy: Policy;
  readonly runners: readonly SandboxRunner[];
  /** default: the user's state directory */
  readonly stateDir?: string;
  /** default: the user's runtime directory */
  readonly runtimeDir?: string;
  readonly logger?: Logger;
  /** wall-clock milliseconds; default Date.now */
  readonly now?: () => number;
}

interface Entry {
  readonly session: ManagedSession;
  readonly lock: LivenessLock | undefined;
  readonly idleTimer: { stop(): void };
  readonly lifetimeTimer: NodeJS.Timeout;
}

const maxTombstones = 1000;

/** Sessions by id: made, found, counted, culled, saved and brought back. */
export class SessionManager implements AsyncDisposable {
  readonly policy: Policy;
  readonly codecell: Codecell;
  readonly #store: SessionStore;
  readonly #runtimeDir: string;
  readonly #tag: string;
  readonly #now: () => number;
  readonly #logger: Logger;
  readonly #cleanup: Cleanup;
  readonly #entries = new Map<string, Entry>();
  readonly #opening = new Map<string, Promise<ManagedSession>>();
  readonly #tombstones = new Map<string, string>();
  readonly #waiting: (() => void)[] = [];
  readonly #pool: WarmPool<PooledSession>;
  #workspaces = 0;
  #reserved = 0;
  #closing: Promise<void> | undefined;

  private constructor(parts: {
    codecell: Codecell;
    store: SessionStore;
    runtimeDir: string;
    tag: string;
    now: () => number;
    logger: Logger;
    cleanup: Cleanup;
  }) {
    this.codecell = parts.codecell;
    this.policy = parts.codecell.policy;
    this.#store = parts.store;
    this.#runtimeDir = parts.runtimeDir;
    this.#tag = parts.tag;
    this.#now = parts.now;
    this.#logger = parts.logger;
    this.#cleanup = parts.cleanup;
    this.#pool = new WarmPool({
      size: this.policy.session.pool,
      make: () => this.#openPooled(),
      isGood: ({ session }) => session.isAlive,
      logger: this.#logger,
    });
  }

  /** Chooses the isolation and removes what dead managers left; what a living one owns is not touched. */
  static async open(options: ManagerOptions): Promise<SessionManager> {
    const { policy, runners, now = Date.now, logger = silentLogger } = options;
    await using cleanup = new Cleanup();
    const codecell = await Codecell.open({ policy, runners });
    cleanup.defer(() => codecell.close());
    const store = await SessionStore.open(options.stateDir ?? stateDirectory());
    const runtimeDir = await openRuntimeDirectory(options.runtimeDir);
    const tag = `m${randomBytes(6).toString("hex")}`;
    const lock = await takeLock(ownerLock(runtimeDir, tag));
    if (!lock) throw new CodecellError("internal", "a new owner's lock is held already");
    cleanup.defer(() => lock[Symbol.asyncDispose]());
    await removeOrphans(store, runtimeDir, logger);
    const manager = new SessionManager({ codecell, store, runtimeDir, tag, now, logger, cleanup: cleanup.move() });
    manager.#pool.fill();
    return manager;
  }

  get runner(): string {
    return this.codecell.runner;
  }

  get poolStatistics(): PoolStatistics {
    return this.#pool.statistics;
  }

  /** Waits until the pool is full; for measuring and for tests. */
  poolFilled(): Promise<void> {
    return this.#pool.filled();
  }

  /** The session with this id: alive here, saved on disk, or made anew. Without an id: a new one with an unguessable id. */
  async getOrCreate(id?: string, options: { waitMs?: number } = {}): Promise<ManagedSession> {
    this.#assertOpen();
    const wanted = id === undefined ? newSessionId() : checkSessionId(id);
    const known = this.#entries.get(wanted)?.session ?? this.#opening.get(wanted);
    if (known) return known;
    this.#tellOnce(wanted);
    const opening = this.#open(wanted, options.waitMs ?? 0).finally(() => this.#opening.delete(wanted));
    this.#opening.set(wanted, opening);
    return opening;
  }

  /** The session with this id, alive or saved; never a new one. */
  async get(id: string): Promise<ManagedSession> {
    this.#assertOpen();
    checkSessionId(id);
    const known = this.#entries.get(id)?.session ?? this.#opening.get(id);
    if (known) return known;
    this.#tellOnce(id);
    if (!(await this.#store.read(id))) {
      throw new CodecellError("session_unknown", `there is no session ${JSON.stringify(id)}`, {
        hint: "list the sessions, or run without an id to start one",
      });
    }
    return this.getOrCreate(id);
  }

  /** Every session of this manager, and those that are saved on disk. */
  async list(): Promise<SessionInfo[]> {
    const alive = [...this.#entries.values()].map(({ session }) => session.info);
    const known = new Set(alive.map(({ id }) => id));
    const saved = (await this.#store.list()).filter((id) => !known.has(id));
    const infos = await Promise.all(saved.map((id) => this.#savedInfo(id)));
    return [...alive, ...infos.flat()];
  }

  /** A second session that starts from this one's variables, in the same cell and workspace. */
  async fork(id: string, newId?: string): Promise<ManagedSession> {
    const parent = await this.get(id);
    const forkId = newId === undefined ? newSessionId() : checkSessionId(newId);
    if (this.#entries.has(forkId) || (await this.#store.read(forkId))) {
      throw new CodecellError("usage", `there is a session ${forkId} already`, { hint: "choose another id" });
    }
    const release = await this.#reserve(0);
    try {
      await using cleanup = new Cleanup();
      const lock = await this.#lock(forkId);
      cleanup.defer(() => lock?.[Symbol.asyncDispose]());
      const session = await (await parent.live()).fork(forkId);
      cleanup.defer(() => session.close());
      return await this.#admit(this.#newRecord(forkId, parent.record.workspace), lock, cleanup, session);
    } finally {
      release();
    }
  }

  /** Ends a session. A persistent one is saved and can be opened again, unless `forget` says that it is over for good. */
  async close(id: string, options: { forget?: boolean } = {}): Promise<void> {
    checkSessionId(id);
    await this.#opening.get(id)?.catch(() => {});
    const entry = this.#entries.get(id);
    const record = entry?.session.record ?? (await this.#store.read(id));
    if (!record) throw new CodecellError("session_unknown", `there is no session ${JSON.stringify(id)}`);
    const isKept = this.policy.session.persist && options.forget !== true;
    if (entry) await this.#dismiss(entry, isKept);
    if (!isKept) await this.#remove(record);
    this.#tombstones.delete(id);
  }

  /** Saves what persists, ends every cell and returns when they are gone. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#opening.values());
    await using cleanup = this.#cleanup;
    cleanup.defer(() => this.#pool[Symbol.asyncDispose]());
    const { persist } = this.policy.session;
    await Promise.all(
      [...this.#entries.values()].map(async (entry) => {
        await this.#dismiss(entry, persist);
        if (!persist) await this.#remove(entry.session.record);
      }),
    );
  }

  async #open(id: string, waitMs: number): Promise<ManagedSession> {
    await using cleanup = new Cleanup();
    // Before the record is read: what another process saves until it gives the session up is what comes back here.
    const lock = await this.#lock(id);
    cleanup.defer(() => lock?.[Symbol.asyncDispose]());
    const record = lock && (await this.#store.read(id));
    const release = await this.#reserve(waitMs);
    try {
      if (record) return await this.#admit(record, lock, cleanup);
      const pooled = this.#pool.takeReady() ?? (await this.#openPooled());
      cleanup.defer(() => pooled[Symbol.asyncDispose]());
      pooled.session.rename(id);
      return await this.#admit(this.#newRecord(id, pooled.workspace), lock, cleanup, pooled.session);
    } finally {
      release();
    }
  }

  /** Takes a place among the live sessions, waiting for one where the caller has time. */
  async #reserve(waitMs: number): Promise<() => void> {
    const { limit } = this.policy.session;
    const end = performance.now() + waitMs;
    while (this.#entries.size + this.#reserved >= limit) {
      const leftMs = end - performance.now();
      if (leftMs <= 0) {
        throw new CodecellError("session_limit", `${limit} sessions are alive, as many as session.limit allows`, {
          hint: "close one, wait, or raise session.limit",
        });
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        this.#waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
    this.#reserved++;
    return () => {
      this.#reserved--;
    };
  }

  /** Takes over what was made for the session so far; the caller's undo is emptied once nothing can fail any more. */
  async #admit(
    record: SessionRecord,
    lock: LivenessLock | undefined,
    undo: Cleanup,
    live?: Session,
  ): Promise<ManagedSession> {
    const { policy } = this;
    if (policy.session.persist) await this.#store.write(record);
    const session = new ManagedSession(
      {
        ...{ record, policy, runner: this.runner, store: this.#store, now: this.#now },
        revive: (managed) => this.#revive(managed),
      },
      live,
    );
    const { idleMs, lifetimeMs } = policy.session;
    const lifetimeTimer = setTimeout(() => {
      void this.#cull(session.id, `it was ${formatDuration(lifetimeMs)} old, its session.lifetime`);
    }, lifetimeMs).unref();
    this.#entries.set(record.id, { session, lock, lifetimeTimer, idleTimer: this.#watchIdle(session, idleMs) });
    undo.move();
    return session;
  }

  /** One timer per session that looks again later when the session was used meanwhile: no work per call. */
  #watchIdle(session: ManagedSession, idleMs: number): { stop(): void } {
    let timer: NodeJS.Timeout;
    const arm = (ms: number) => {
      timer = setTimeout(look, ms).unref();
    };
    const look = () => {
      const leftMs = session.usedMs + idleMs - this.#now();
      if (leftMs > 0 || session.isBusy) arm(Math.max(leftMs, 100));
      else void this.#cull(session.id, `nothing was asked of it for ${formatDuration(idleMs)}, its session.idle`);
    };
    arm(idleMs);
    return { stop: () => clearTimeout(timer) };
  }

  /** Ends a session without its caller's doing. What persists is only put aside. */
  async #cull(id: string, why: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (!entry) return;
    const { persist } = this.policy.session;
    this.#logger.info("a session was culled", { id, why });
    try {
      await this.#dismiss(entry, persist);
      if (!persist) {
        this.#bury(id, why);
        await this.#remove(entry.session.record);
      }
    } catch (error) {
      this.#logger.warn("a session could not be culled cleanly", { id, error });
    }
  }

  async #dismiss(entry: Entry, save: boolean): Promise<void> {
    const { session } = entry;
    this.#entries.delete(session.id);
    entry.idleTimer.stop();
    clearTimeout(entry.lifetimeTimer);
    try {
      if (save) await session.suspend();
    } catch (error) {
      this.#logger.warn("a session could not be saved", { id: session.id, error });
    } finally {
      await session.end();
      await entry.lock?.[Symbol.asyncDispose]();
      this.#waiting.shift()?.();
    }
  }

  /** Removes a session's record, and its workspace unless a fork still uses it. */
  async #remove(record: SessionRecord): Promise<void> {
    const isShared = [...this.#entries.values()].some(({ session }) => session.record.workspace === record.workspace);
    await this.#store.forget(record.id);
    if (!isShared) await this.#store.removeWorkspace(record.workspace);
  }

  async #revive(managed: ManagedSession): Promise<Session> {
    const { id, record } = managed;
    const workspace = { root: this.#store.workspacesDir, name: record.workspace };
    const session = await this.codecell.openSession({ id, workspace });
    await managed.restoreInto(session);
    return session;
  }

  async #openPooled(): Promise<PooledSession> {
    const workspace = `${this.#tag}-${++this.#workspaces}`;
    const session = await this.codecell.openSession({
      workspace: { root: this.#store.workspacesDir, name: workspace },
    });
    const store = this.#store;
    return {
      session,
      workspace,
      async [Symbol.asyncDispose]() {
        await session.close();
        await store.removeWorkspace(workspace);
      },
    };
  }

  /** What is kept on disk lives in one process at a time. */
  async #lock(id: string): Promise<LivenessLock | undefined> {
    if (!this.policy.session.persist) return undefined;
    return lockSession({ runtimeDir: this.#runtimeDir, workspacesDir: this.#store.workspacesDir }, id);
  }

  async #savedInfo(id: string): Promise<SessionInfo[]> {
    const record = await this.#store.read(id).catch(() => undefined);
    if (!record) return [];
    const { createdMs, usedMs, runs, snapshot } = record;
    return [
      {
        ...{ id, state: "saved", isBusy: false, createdMs, usedMs, runs, snapshot, checkpoints: [], sharers: 0 },
        runner: snapshot?.runner ?? this.runner,
        isPersistent: true,
      },
    ];
  }

  #newRecord(id: string, workspace: string): SessionRecord {
    const now = this.#now();
    return { version: 1, id, workspace, createdMs: now, usedMs: now, runs: 0, snapshot: undefined };
  }

  #bury(id: string, why: string): void {
    this.#tombstones.set(id, why);
    const [oldest] = this.#tombstones.keys();
    if (this.#tombstones.size > maxTombstones && oldest !== undefined) this.#tombstones.delete(oldest);
  }

  /** The next call after a cull is told; the one after that starts afresh. */
  #tellOnce(id: string): void {
    const why = this.#tombstones.get(id);
    if (why === undefined) return;
    this.#tombstones.delete(id);
    throw new CodecellError("session_culled", `session ${id} has ended: ${why}; its variables and files are gone`, {
      hint: "call again to start it afresh",
    });
  }

  #assertOpen(): void {
    if (this.#closing) throw new CodecellError("session_closed", "the session manager is closed");
  }
}

interface PooledSession extends AsyncDisposable {
  readonly session: Session;
  readonly workspace: string;
}
