import { randomBytes } from "node:crypto";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { Audit } from "../audit/audit.ts";
import type { EgressOptions } from "../egress/process/egress-process.ts";
import { Cleanup } from "../lib/cleanup.ts";
import { CodecellError } from "../lib/errors.ts";
import { type LivenessLock, takeLock } from "../lib/files/liveness-lock.ts";
import { removeTree } from "../lib/files/remove-tree.ts";
import { openRuntimeDirectory } from "../lib/files/runtime-directory.ts";
import { stateDirectory } from "../lib/files/state-directory.ts";
import { type Logger, silentLogger } from "../lib/log/logger.ts";
import type { IsolationLevel } from "../policy/isolation.ts";
import type { Policy, PolicyInput } from "../policy/schema.ts";
import type { Choice } from "../runners/registry.ts";
import type { SandboxRunner, SessionWorkspace } from "../runners/runner.ts";
import type { LiveSession } from "./live-session.ts";
import type { LiveSessions } from "./live-sessions.ts";
import { openLive } from "./open-live.ts";
import type { PolicyReload } from "./reloaded-policy.ts";
import { Session, type SessionInfo } from "./session.ts";
import type { SessionAudit } from "./session-audit.ts";
import { checkSessionId, newSessionId } from "./session-id.ts";
import { SessionSlots } from "./session-slots.ts";
import { ownerLock, ownState, removeOrphans, removeUnfinished } from "./storage/remove-orphans.ts";
import { lockSession } from "./storage/session-lock.ts";
import { type SessionRecord, SessionStore } from "./storage/store.ts";
import { Tombstones } from "./tombstones.ts";
import { type PoolStatistics, WarmPool } from "./warm-pool.ts";
import { watchAge } from "./watch-age.ts";

/** What `Codecell.open` is told; everything has a default. */
export interface CodecellOptions {
  /** a policy file, what such a file holds as an object, or a policy that was parsed before; default: the strictest policy */
  readonly policy?: string | PolicyInput | Policy;
  /** runners to choose from; owned by the codecell. Default: every built-in one */
  readonly runners?: readonly SandboxRunner[];
  /** default: the user's state directory */
  readonly stateDir?: string;
  /** default: the user's runtime directory */
  readonly runtimeDir?: string;
  readonly logger?: Logger;
  /** where events are recorded; owned by the codecell. Default: the audit that the policy asks for, in the state directory */
  readonly audit?: Audit;
  /** how the egress proxy is set up, where the policy opens the network */
  readonly egress?: EgressOptions;
  /** @internal wall-clock milliseconds */
  readonly now?: () => number;
  /** @internal nobody asks for the files on the host: they stay in the cell, where the OS limits them */
  readonly filesStayInCell?: boolean;
}

interface Entry {
  readonly session: Session;
  readonly lock: LivenessLock | undefined;
  readonly age: { stop(): void };
}

/** Where a session that becomes alive comes from. */
type Origin = { readonly from: "new" | "saved" } | { readonly from: "fork"; readonly of: string };

/**
 * The sandbox: one policy, the runner that was chosen for it, and sessions by id, which are made, found, counted, saved and
 * brought back.
 */
export class Codecell implements AsyncDisposable {
  readonly #live: LiveSessions;
  readonly #store: SessionStore;
  readonly #runtimeDir: string;
  readonly #tag: string;
  readonly #filesStayInCell: boolean;
  readonly #now: () => number;
  readonly #logger: Logger;
  readonly #cleanup: Cleanup;
  readonly #entries = new Map<string, Entry>();
  readonly #opening = new Map<string, Promise<Session>>();
  readonly #tombstones = new Tombstones();
  /** sessions that are being saved and ended: whoever asks for one of these ids waits */
  readonly #leaving = new Map<string, Promise<void>>();
  /** how many sessions of this manager work with a workspace */
  readonly #users = new Map<string, number>();
  readonly #slots: SessionSlots;
  readonly #pool: WarmPool<PooledSession>;
  #workspaces = 0;
  #closing: Promise<void> | undefined;

  private constructor(parts: {
    live: LiveSessions;
    store: SessionStore;
    runtimeDir: string;
    tag: string;
    filesStayInCell: boolean;
    now: () => number;
    logger: Logger;
    cleanup: Cleanup;
  }) {
    this.#live = parts.live;
    this.#store = parts.store;
    this.#runtimeDir = parts.runtimeDir;
    this.#tag = parts.tag;
    this.#filesStayInCell = parts.filesStayInCell;
    this.#now = parts.now;
    this.#logger = parts.logger;
    this.#cleanup = parts.cleanup;
    this.#slots = new SessionSlots(this.policy.session.limit, () => this.#entries.size + this.#leaving.size);
    this.#pool = new WarmPool({
      size: this.policy.session.pool,
      make: () => this.#openPooled(),
      warm: ({ session }) => session.rehearse(),
      isGood: ({ session }) => session.isAlive,
      logger: this.#logger,
    });
  }

  /** Chooses the isolation and removes what dead processes left; what a living one owns is not touched. */
  static async open(options: CodecellOptions = {}): Promise<Codecell> {
    const { now = Date.now, logger = silentLogger, stateDir = stateDirectory(), filesStayInCell = false } = options;
    await using cleanup = new Cleanup();
    // Last of all: cells that end are recorded.
    if (options.audit) cleanup.defer(() => options.audit?.[Symbol.asyncDispose]());
    const { live, audit } = await openLive(options, { logger, stateDir });
    if (!options.audit) cleanup.defer(() => audit[Symbol.asyncDispose]());
    cleanup.defer(() => live.close());
    const runtimeDir = await openRuntimeDirectory(options.runtimeDir);
    const tag = `m${randomBytes(6).toString("hex")}`;
    // Before anything carries the tag: what has no living owner is removed by the next process that opens.
    const lock = await takeLock(ownerLock(runtimeDir, tag));
    if (!lock) throw new CodecellError("internal", "the lock of a new owner is already held");
    cleanup.defer(() => lock[Symbol.asyncDispose]());
    const store = await openReachable(stateDir, !filesStayInCell && isMounted(live)).catch(async (error: unknown) => {
      if (live.policy.session.persist) throw error;
      logger.warn("the state directory is unavailable; session files are kept elsewhere", { stateDir, error });
      const own = ownState(runtimeDir, tag);
      cleanup.defer(() => removeTree(own));
      return SessionStore.open(own);
    });
    await removeUnfinished(store, runtimeDir);
    await removeOrphans(store, runtimeDir, logger);
    const codecell = new Codecell({
      ...{ live, store, runtimeDir, tag, filesStayInCell, now, logger },
      cleanup: cleanup.move(),
    });
    codecell.#pool.fill();
    return codecell;
  }

  /** The policy that sessions are opened under. */
  get policy(): Policy {
    return this.#live.policy;
  }

  /** The name of the runner that new sessions get. */
  get runner(): string {
    return this.#live.runner;
  }

  /** How strong the isolation of new sessions is. */
  get isolation(): IsolationLevel {
    return this.#live.choice.runner.isolation;
  }

  /** The runner that new sessions get, what it enforces, and why not a stronger one. */
  get choice(): Choice {
    return this.#live.choice;
  }

  /** @internal What sessions record; absent where nobody reads it. */
  get audit(): SessionAudit | undefined {
    return this.#live.audit;
  }

  /** Puts the rules of another policy in force that can change while cells live, in every session; names the rest. */
  reloadPolicy(next: Policy): Promise<PolicyReload> {
    return this.#live.reloadPolicy(next);
  }

  get poolStatistics(): PoolStatistics {
    return this.#pool.statistics;
  }

  /** Waits until the pool is full; for measuring and for tests. */
  poolFilled(): Promise<void> {
    return this.#pool.filled();
  }

  /** The session with this id: live, saved or new. Without an id: a new one with an unguessable id. */
  async session(id?: string, options: { waitMs?: number } = {}): Promise<Session> {
    this.#assertOpen();
    const ready = id === undefined ? this.#takeReady() : undefined;
    if (ready) return ready;
    const wanted = id === undefined ? newSessionId() : checkSessionId(id);
    await this.#leaving.get(wanted);
    const known = this.#entries.get(wanted)?.session ?? this.#opening.get(wanted);
    if (known) return known;
    this.#tombstones.tellOnce(wanted);
    const opening = this.#open(wanted, options.waitMs ?? 0).finally(() => this.#opening.delete(wanted));
    this.#opening.set(wanted, opening);
    return opening;
  }

  /** The session with this id, alive or saved; never a new one. */
  async get(id: string): Promise<Session> {
    this.#assertOpen();
    checkSessionId(id);
    await this.#leaving.get(id);
    const known = this.#entries.get(id)?.session ?? this.#opening.get(id);
    if (known) return known;
    this.#tombstones.tellOnce(id);
    if (!this.policy.session.persist || !(await this.#store.read(id))) {
      throw unknownSession(id);
    }
    return this.session(id);
  }

  /** Ids of the sessions that are alive or on their way, without a look at the disk. */
  aliveIds(): string[] {
    return [...this.#entries.keys(), ...this.#opening.keys()];
  }

  /** What is known of a session, alive or saved, without waking it. */
  async info(id: string): Promise<SessionInfo> {
    this.#assertOpen();
    checkSessionId(id);
    await this.#leaving.get(id);
    const known = this.#entries.get(id)?.session ?? (await this.#opening.get(id));
    if (known) return known.info;
    this.#tombstones.tellOnce(id);
    const [saved] = this.policy.session.persist ? await this.#savedInfo(id) : [];
    if (saved) return saved;
    throw unknownSession(id);
  }

  /** Every session of this manager, and those that are saved on disk; of those whose ids begin with `prefix`. */
  async list({ prefix = "" }: { prefix?: string } = {}): Promise<SessionInfo[]> {
    const entries = [...this.#entries].filter(([key]) => key.startsWith(prefix));
    const alive = entries.map(([, { session }]) => session.info);
    const known = new Set(alive.map(({ id }) => id));
    const saved = (await this.#store.list()).filter((id) => id.startsWith(prefix) && !known.has(id));
    const infos = await Promise.all(saved.map((id) => this.#savedInfo(id)));
    return [...alive, ...infos.flat()];
  }

  /** A second session that starts from this one's variables, in the same cell and workspace. */
  async fork(id: string, newId?: string): Promise<Session> {
    const parent = await this.get(id);
    const forkId = newId === undefined ? newSessionId() : checkSessionId(newId);
    await this.#leaving.get(forkId);
    this.#assertOpen();
    if (this.#entries.has(forkId) || this.#opening.has(forkId)) throw takenId(forkId);
    // Under its id from here on: a second one with the same id would push it out, and nobody could close it any more.
    const forking = this.#fork(parent, id, forkId).finally(() => this.#opening.delete(forkId));
    this.#opening.set(forkId, forking);
    return forking;
  }

  async #fork(parent: Session, id: string, forkId: string): Promise<Session> {
    if (await this.#store.read(forkId)) throw takenId(forkId);
    const release = await this.#slots.reserve(0, () => this.#assertOpen());
    try {
      await using cleanup = new Cleanup();
      const lock = await this.#lock(forkId);
      cleanup.defer(() => lock?.[Symbol.asyncDispose]());
      const session = await (await parent.wake()).fork(forkId);
      cleanup.defer(() => session.close());
      const record = { ...this.#newRecord(forkId, parent.record.workspace), asked: session.rules.requestedRules };
      const fork = this.#managed(record, session);
      await this.#admit(fork, lock, cleanup, { from: "fork", of: id });
      await fork.begunFromAnother();
      return fork;
    } finally {
      release();
    }
  }

  /** Ends a session. A persistent one is saved and can be opened again, unless `forget` says that it is over for good. */
  async closeSession(id: string, options: { forget?: boolean } = {}): Promise<void> {
    checkSessionId(id);
    // Without a pause when nothing is under way: whoever asks for the id from now on gets another session.
    if (this.#opening.has(id)) await this.#opening.get(id)?.catch(() => {});
    if (this.#leaving.has(id)) await this.#leaving.get(id);
    const entry = this.#entries.get(id);
    if (entry) await this.#dismiss(entry, { save: this.policy.session.persist && options.forget !== true });
    else await this.#closeSaved(id, options.forget === true);
    this.#tombstones.remove(id);
  }

  /** Saves what persists, ends every cell and returns when they are gone; the same as disposing. */
  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#slots[Symbol.dispose]();
    await Promise.allSettled(this.#opening.values());
    await using cleanup = this.#cleanup;
    cleanup.defer(() => this.#pool[Symbol.asyncDispose]());
    const { persist } = this.policy.session;
    for (const entry of this.#entries.values()) void this.#dismiss(entry, { save: persist });
    await Promise.all(this.#leaving.values());
  }

  /** A new session from the pool, without a pause: nothing of it is on disk, and nobody else can know its id. */
  #takeReady(): Session | undefined {
    if (this.policy.session.persist || this.#slots.isFull) return undefined;
    const pooled = this.#pool.takeReady();
    if (!pooled) return undefined;
    pooled.managed.begin(pooled.session.id);
    this.#enter(pooled.managed, undefined, { from: "new" });
    return pooled.managed;
  }

  async #open(id: string, waitMs: number): Promise<Session> {
    await using cleanup = new Cleanup();
    // Before the record is read: what another process saves until it gives the session up is what comes back here.
    const lock = await this.#lock(id);
    cleanup.defer(() => lock?.[Symbol.asyncDispose]());
    const record = lock && (await this.#store.read(id));
    const release = await this.#slots.reserve(waitMs, () => this.#assertOpen());
    try {
      if (record) return await this.#admit(this.#managed(record), lock, cleanup, { from: "saved" });
      const pooled = await this.#pool.take();
      cleanup.defer(() => pooled[Symbol.asyncDispose]());
      pooled.session.rename(id);
      pooled.managed.begin(id);
      return await this.#admit(pooled.managed, lock, cleanup, { from: "new" });
    } finally {
      release();
    }
  }

  /** Takes over what was made for the session so far; the caller's undo is emptied once nothing can fail any more. */
  async #admit(session: Session, lock: LivenessLock | undefined, undo: Cleanup, origin: Origin): Promise<Session> {
    // What was saved is on disk already, and can be had from a disk that is full.
    if (this.policy.session.persist && origin.from !== "saved") await this.#store.write(session.record);
    this.#enter(session, lock, origin);
    undo.move();
    return session;
  }

  #managed(record: SessionRecord, live?: LiveSession): Session {
    const runner = () => this.runner;
    const { audit } = this.#live;
    const policy = () => this.policy;
    const revive = (managed: Session) => this.#revive(managed);
    const fork = (id: string, newId?: string) => this.fork(id, newId);
    const close = (id: string, options: { forget?: boolean }) => this.closeSession(id, options);
    const parts = { record, policy, runner, store: this.#store, now: this.#now, audit, revive, fork, close };
    return new Session(parts, live);
  }

  #enter(session: Session, lock: LivenessLock | undefined, origin: Origin): void {
    const { record } = session;
    const age = watchAge(session, this.policy.session, this.#now, (why) => void this.#cull(session.key, why));
    this.#entries.set(record.id, { session, lock, age });
    this.#users.set(record.workspace, (this.#users.get(record.workspace) ?? 0) + 1);
    const forkOf = origin.from === "fork" ? origin.of : undefined;
    this.#live.audit?.sessionOpened(record.id, session.runner, origin.from, forkOf);
  }

  /** Ends a session without its caller's doing. What persists is only put aside. */
  async #cull(id: string, why: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (!entry) return;
    const { persist } = this.policy.session;
    this.#logger.info("a session expired", { id, why });
    if (!persist) this.#tombstones.add(id, why);
    await this.#dismiss(entry, { save: persist, why });
  }

  /** Takes a session out: saves it or removes it, and ends its cell. It fails for nobody; the log says what went wrong. */
  #dismiss(entry: Entry, how: { save: boolean; why?: string }): Promise<void> {
    const { key: id } = entry.session;
    this.#entries.delete(id);
    const leaving = this.#end(entry, how)
      .catch((error: unknown) => this.#logger.warn("a session could not be closed cleanly", { id, error }))
      .finally(() => {
        this.#leaving.delete(id);
        this.#slots.recheck();
      });
    this.#leaving.set(id, leaving);
    return leaving;
  }

  async #end(entry: Entry, { save, why }: { save: boolean; why?: string }): Promise<void> {
    const { session, lock } = entry;
    entry.age.stop();
    await using cleanup = new Cleanup();
    cleanup.defer(() => lock?.[Symbol.asyncDispose]());
    const { workspace } = session.record;
    try {
      if (save) await session.suspend();
    } catch (error) {
      this.#logger.warn("a session could not be saved", { id: session.key, error });
    } finally {
      await session.end(why);
      this.#live.audit?.sessionClosed(session.key, save, why);
      this.#users.set(workspace, (this.#users.get(workspace) ?? 1) - 1);
    }
    if (!save) await this.#remove(session.key, workspace);
    if (this.#users.get(workspace) === 0) this.#users.delete(workspace);
  }

  /** A session that is not alive here. What another process has open is not ours to remove. */
  async #closeSaved(id: string, forget: boolean): Promise<void> {
    if (!(await this.#store.list()).includes(id)) {
      throw unknownSession(id);
    }
    if (!forget) return;
    const place = { runtimeDir: this.#runtimeDir, workspacesDir: this.#store.workspacesDir };
    await using _mine = await lockSession(place, id);
    // A damaged record names no workspace: that one becomes an orphan, which the next start removes.
    const record = await this.#store.read(id).catch(() => undefined);
    await this.#store.forget(id);
    this.#live.audit?.sessionClosed(id, false);
    if (record) await this.#removeWorkspace(record.workspace);
  }

  async #remove(id: string, workspace: string): Promise<void> {
    // Without persistence nothing on disk is ours: the same id may name a session that somebody saved.
    if (this.policy.session.persist) await this.#store.forget(id);
    await this.#removeWorkspace(workspace);
  }

  /** Unless a fork still works with it, alive or saved. */
  async #removeWorkspace(name: string): Promise<void> {
    if ((this.#users.get(name) ?? 0) > 0) return;
    if (this.policy.session.persist && (await this.#store.isNamed(name))) return;
    await this.#store.removeWorkspace(name);
  }

  async #revive(managed: Session): Promise<LiveSession> {
    const { key: id, record } = managed;
    const workspace = this.#workspace(record.workspace);
    const session = await this.#live.openSession({ id, ...workspace, isManaged: true, requestedRules: record.asked });
    await managed.restoreInto(session);
    return session;
  }

  async #openPooled(): Promise<PooledSession> {
    const workspace = `${this.#tag}-${++this.#workspaces}`;
    const session = await this.#live.openSession({ ...this.#workspace(workspace), isManaged: true });
    const store = this.#store;
    return {
      session,
      managed: this.#managed(this.#newRecord(session.id, workspace), session),
      async [Symbol.asyncDispose]() {
        await session.close();
        await store.removeWorkspace(workspace);
      },
    };
  }

  #workspace(name: string): { workspace?: SessionWorkspace } {
    return this.#filesStayInCell ? {} : { workspace: { root: this.#store.workspacesDir, name } };
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

  #assertOpen(): void {
    if (this.#closing) throw new CodecellError("session_closed", "this codecell is closed");
  }
}

/**
 * The state directory, if cells can reach their workspaces in it. As root they have another uid, and a directory on the way
 * that is closed to others, such as a home directory, would keep them out.
 */
async function openReachable(stateDir: string, hasWorkspaces: boolean): Promise<SessionStore> {
  const store = await SessionStore.open(stateDir);
  if (process.getuid?.() !== 0 || !hasWorkspaces) return store;
  for (let path = store.workspacesDir; path !== dirname(path); path = dirname(path)) {
    if (((await stat(path)).mode & 0o001) !== 0) continue;
    throw new CodecellError("usage", `cells cannot reach ${store.workspacesDir}: ${path} is closed to other users`, {
      hint: `run \`chmod o+x ${path}\`, or choose another state directory`,
    });
  }
  return store;
}

/** Whether sessions have directories of their own on the host, which their cells see. */
function isMounted({ choice, policy }: LiveSessions): boolean {
  return choice.runner.takesWorkspace && policy.fs.workspace === undefined;
}

/** Without a hint: what a caller can do about it is another thing on every surface. */
function unknownSession(id: string): CodecellError {
  return new CodecellError("session_unknown", `there is no session ${JSON.stringify(id)}`);
}

function takenId(id: string): CodecellError {
  return new CodecellError("usage", `session ${id} already exists`, { hint: "use another id" });
}

interface PooledSession extends AsyncDisposable {
  readonly session: LiveSession;
  /** made while it waits: nothing is left to do when it is asked for */
  readonly managed: Session;
}
