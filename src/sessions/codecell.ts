import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { type AuditObserver, ObservedAudit } from "../audit/observed-audit.ts";
import type { ForkInCall } from "../kernel/client.ts";
import { Cleanup } from "../lib/cleanup.ts";
import { CodecellError } from "../lib/errors.ts";
import { takeLock } from "../lib/files/liveness-lock.ts";
import { explainNoDescriptors } from "../lib/files/no-descriptors.ts";
import { openRuntimeDirectory } from "../lib/files/runtime-directory.ts";
import { stateDirectory } from "../lib/files/state-directory.ts";
import { warmDirectory } from "../lib/files/warm-directory.ts";
import { loadOnce } from "../lib/load-once.ts";
import { type Logger, silentLogger } from "../lib/log/logger.ts";
import type { IsolationLevel } from "../policy/isolation.ts";
import type { Policy } from "../policy/schema.ts";
import type { Choice } from "../runners/registry.ts";
import { type CodecellOptions, checkCodecellOptions, keepsFilesInCell } from "./codecell-options.ts";
import { processStatus } from "./lifecycle/process-status.ts";
import { type Origin, SessionRegistry } from "./lifecycle/session-registry.ts";
import { SessionSlots } from "./lifecycle/session-slots.ts";
import { StatusAnswers } from "./lifecycle/status-answers.ts";
import { Tombstones } from "./lifecycle/tombstones.ts";
import { type PoolStatistics, WarmPool } from "./lifecycle/warm-pool.ts";
import { startedLineage } from "./lineage/lineage.ts";
import type { LiveSession } from "./live-session.ts";
import type { LiveSessions } from "./live-sessions.ts";
import { ManagedSession } from "./managed-session.ts";
import { openLive } from "./open-live.ts";
import { type BuildCellSpec, borrowedRunner } from "./packages/build-cell.ts";
import type { PolicyReload } from "./rules/reloaded-policy.ts";
import { Session } from "./session.ts";
import type { SessionAudit } from "./session-audit.ts";
import { sessionExists } from "./session-errors.ts";
import { checkSessionId, newSessionId } from "./session-id.ts";
import { type SessionInfo, savedInfo } from "./session-info.ts";
import { ownerLock, removeLeftovers } from "./storage/files/remove-orphans.ts";
import { lostNote } from "./storage/lost-note.ts";
import { openSessionStorage } from "./storage/open-session-storage.ts";
import { OwnedStore } from "./storage/owned-store.ts";
import type { SessionRecord } from "./storage/session-record.ts";
import type { HeldSession, LockOptions, SessionStorage } from "./storage/session-storage.ts";

/**
 * The sandbox: one policy, the runner that was chosen for it, and sessions by id. It opens, finds, limits, saves and restores
 * them.
 */
export class Codecell implements AsyncDisposable {
  readonly #live: LiveSessions;
  readonly #store: SessionStorage;
  readonly #owned: OwnedStore;
  readonly #now: () => number;
  readonly #cleanup: Cleanup;
  readonly #registry: SessionRegistry;
  readonly #tombstones = new Tombstones();
  readonly #slots: SessionSlots;
  readonly #pool: WarmPool<PooledSession>;
  readonly #onCellStarted: () => void;
  #closing: Promise<void> | undefined;

  private constructor(parts: {
    live: LiveSessions;
    store: SessionStorage;
    tag: string;
    filesStayInCell: boolean;
    /** warm sessions of this process */
    pool: number;
    onCellStarted: () => void;
    now: () => number;
    logger: Logger;
    cleanup: Cleanup;
  }) {
    const { live, store, now, logger } = parts;
    const policy = () => this.policy;
    this.#live = live;
    this.#store = store;
    this.#now = now;
    this.#cleanup = parts.cleanup;
    this.#onCellStarted = parts.onCellStarted;
    this.#owned = new OwnedStore({ ...parts, persists: () => this.policy.session.persist });
    const onClosed = () => this.#slots.recheck();
    const { audit } = live;
    const tombstones = this.#tombstones;
    this.#registry = new SessionRegistry({ policy, store: this.#owned, tombstones, audit, logger, onClosed });
    this.#slots = new SessionSlots(this.policy.session.limit, () => this.#registry.size);
    this.#pool = new WarmPool({
      size: parts.pool,
      make: () => this.#openPooled(),
      warm: ({ live: pooled }) => pooled.rehearse(),
      isGood: ({ live: pooled }) => pooled.isAlive,
      logger,
    });
  }

  /** Chooses the runner and removes what dead processes left behind. What a live process owns is not touched. */
  static async open(options: CodecellOptions = {}): Promise<Codecell> {
    checkCodecellOptions(options);
    const { now = Date.now, logger = silentLogger } = options;
    const stateDir = resolve(options.stateDir ?? stateDirectory()); // cells start in other directories
    await using cleanup = new Cleanup();
    // Last of all: cells that end are recorded.
    if (options.audit) cleanup.defer(() => options.audit?.[Symbol.asyncDispose]());
    const openBuildCell = (spec: BuildCellSpec) =>
      Codecell.open({
        ...{ policy: spec.policy, runners: [borrowedRunner(spec.runner)], stateDir, logger, heldBy: "package build" },
        ...(options.runtimeDir === undefined ? {} : { runtimeDir: options.runtimeDir }),
        packages: { prepared: spec.packages },
      });
    const { live, audit } = await openLive(options, { logger, stateDir, openBuildCell });
    if (!options.audit) cleanup.defer(() => audit[Symbol.asyncDispose]());
    cleanup.defer(() => live.close());
    const filesStayInCell = keepsFilesInCell(options, live.policy);
    const runtimeDir = await openRuntimeDirectory(options.runtimeDir);
    const tag = `m${randomBytes(6).toString("hex")}`;
    // Before anything carries the tag: what has no living owner is removed by the next process that opens.
    const status = new StatusAnswers();
    const lock = await takeLock(ownerLock(runtimeDir, tag), (socket) => status.answer(socket));
    if (!lock) throw new CodecellError("internal", "the lock of a new owner is already held");
    cleanup.defer(() => lock[Symbol.asyncDispose]());
    const store = await openSessionStorage({
      ...{
        stateDir,
        runtimeDir,
        tag,
        logger,
        database: options.openedDatabase ?? options.database,
        owners: options.owners,
      },
      mustPersist: live.policy.session.persist,
      hasWorkspaces: !filesStayInCell && isMounted(live),
    });
    cleanup.defer(() => store[Symbol.asyncDispose]());
    const tidy = loadOnce(() => removeLeftovers(store, runtimeDir, logger));
    // Without directories on the host, nobody waits for this: it runs while the first cell starts.
    if (filesStayInCell) cleanup.defer(tidy);
    else await tidy();
    const { session } = live.policy;
    const keptElsewhere = session.pool > 0 ? ((await live.choice.runner.keepWarm?.(live.policy)) ?? 0) : 0;
    const codecell = new Codecell({
      ...{ live, store, tag, filesStayInCell, pool: session.pool - keptElsewhere, now, logger },
      onCellStarted: () => void tidy().catch((error: unknown) => logger.warn("cleaning up failed", { error })),
      cleanup: cleanup.move(),
    });
    // The attack: programs are often given all of /tmp, where they would find the ids of other sessions.
    const isPrivate = options.runtimeDir !== undefined || warmDirectory() !== undefined;
    const facts = { heldBy: options.heldBy ?? "library", stateDir, startedMs: now(), isPrivate };
    status.from(() => processStatus(codecell, codecell.#registry.open, facts));
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

  /** The runner that new sessions get, what it enforces, and why stronger ones were skipped. */
  get choice(): Choice {
    return this.#live.choice;
  }

  /** @internal Records what sessions do; undefined if nothing is recorded. */
  get audit(): SessionAudit | undefined {
    return this.#live.audit;
  }

  /** @internal Calls the observer with each event from now on. With the audit off, only if opened with `isObservable`. */
  observe(observer: AuditObserver): Disposable {
    const audit = this.audit?.audit;
    return audit instanceof ObservedAudit ? audit.observe(observer) : { [Symbol.dispose]() {} };
  }

  /** @internal What is known of a session now, live or saved; undefined: unknown, or closing. Nobody is told that it expired. */
  async peek(id: string): Promise<SessionInfo | undefined> {
    const open = this.#registry.peek(id);
    if (open || !this.policy.session.persist) return open?.info;
    return this.#owned.info(id, this.runner);
  }

  /** Applies a new policy to every session, as far as rules can change while cells run. Lists the other rules. */
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
  async session(id?: string, options: OpenOptions = {}): Promise<Session> {
    this.#assertOpen();
    const ready = id === undefined ? this.#takeReady() : undefined;
    if (ready) return ready;
    const wanted = id === undefined ? newSessionId() : checkSessionId(id);
    await this.#registry.closed(wanted);
    const known = this.#registry.find(wanted);
    if (known) return known;
    const opening = this.#open(wanted, options).catch(explainNoDescriptors);
    return this.#registry.openAs(wanted, opening);
  }

  /** The session with this id, live or saved; never a new one. */
  async get(id: string): Promise<Session> {
    this.#assertOpen();
    checkSessionId(id);
    await this.#registry.closed(id);
    const known = this.#registry.find(id);
    if (known) return known;
    if (!(await this.#owned.saved(id))) throw await this.#owned.missing(id);
    return this.session(id);
  }

  /** Ids of the sessions that are live or opening; does not read the disk. */
  aliveIds(): string[] {
    return this.#registry.ids;
  }

  /** @internal The sessions that are open, of all tenants. */
  openSessions(): readonly Session[] {
    return this.#registry.open;
  }

  /** What is known of a session, live or saved, without starting its cell. */
  async info(id: string): Promise<SessionInfo> {
    this.#assertOpen();
    checkSessionId(id);
    await this.#registry.closed(id);
    const known = await this.#registry.find(id);
    if (known) return known.info;
    const saved = this.policy.session.persist ? await this.#owned.info(id, this.runner) : undefined;
    if (saved) return saved;
    throw await this.#owned.missing(id);
  }

  /** Every session that is live here or saved on disk, and whose id starts with `prefix`. */
  async list({ prefix = "" }: { prefix?: string } = {}): Promise<SessionInfo[]> {
    const open = this.#registry.open.filter(({ key }) => key.startsWith(prefix)).map(({ info }) => info);
    const known = new Set(open.map(({ id }) => id));
    const saved = (await this.#store.records(prefix)).filter(({ id }) => !known.has(id));
    return [...open, ...saved.map((record) => savedInfo(record.id, record, this.runner))];
  }

  /** A second session that starts from this one's variables, in the same cell and workspace. */
  fork(id: string, newId?: string): Promise<Session> {
    return this.#forkOf(id, newId, {});
  }

  /** @internal The same for a tenant, who may have this many sessions in all. */
  forkWithin(quota: number, id: string, newId: string): Promise<Session> {
    return this.#forkOf(id, newId, { quota });
  }

  async #forkOf(id: string, newId: string | undefined, options: ForkOptions): Promise<Session> {
    const parent = await this.get(id);
    const forkId = newId === undefined ? newSessionId() : checkSessionId(newId);
    await this.#registry.closed(forkId);
    this.#assertOpen();
    if (this.#registry.has(forkId)) throw sessionExists(forkId);
    return this.#registry.openAs(forkId, this.#fork(parent, id, forkId, options));
  }

  async #fork(parent: Session, id: string, forkId: string, { inCall, quota }: ForkOptions): Promise<Session> {
    if (await this.#store.read(forkId)) throw sessionExists(forkId);
    const release = await this.#slots.reserve(0, () => this.#assertOpen());
    try {
      await using cleanup = new Cleanup();
      const lock = await this.#owned.lock(forkId, { quota });
      cleanup.defer(() => lock?.[Symbol.asyncDispose]());
      const live = await (await parent.wake()).fork(forkId, inCall);
      cleanup.defer(() => live.close());
      const record = this.#owned.newRecord(forkId, parent.record.workspace);
      const from = { session: parent.id, run: parent.record.runs };
      const lineage = startedLineage(this.#now(), from);
      const fork = this.#session({ ...record, asked: live.rules.requestedRules, lineage }, live);
      await this.#admit(fork, lock, cleanup, { from: "fork", of: id });
      parent.managed.lineage.forked(fork.id);
      await fork.managed.begunFromAnother();
      // A sub-agent gets functions of its own.
      if (!inCall) await parent.managed.functions.copyTo(fork.managed.functions);
      return fork;
    } finally {
      release();
    }
  }

  /** Closes a session. A persistent one is saved and can be opened again, unless `forget` removes it for good. */
  async closeSession(id: string, options: { forget?: boolean } = {}): Promise<void> {
    checkSessionId(id);
    const { forget = false } = options;
    const wasOpen = await this.#registry.close(id, { save: this.policy.session.persist && !forget });
    if (!wasOpen && forget) await this.#owned.removeSaved(id, () => this.audit?.sessionClosed(id, false));
    else if (!wasOpen) await this.#owned.assertSaved(id);
    this.#tombstones.remove(id);
  }

  /** @internal Whether the session is open in this process. */
  isOpen(id: string): boolean {
    return this.#registry.peek(id) !== undefined;
  }

  /** @internal Ends a session that now belongs to another process, without a save: what is stored is the other one's. */
  async abandon(id: string, why: string): Promise<void> {
    await this.#registry.close(id, { save: false, isAbandoned: true, why });
  }

  /** Saves persistent sessions and ends every cell; returns when the cells are gone. The same as disposing. */
  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#slots[Symbol.dispose]();
    await this.#live.stopPreparing(); // sessions that wait for packages would hold everything up
    await using cleanup = this.#cleanup;
    cleanup.defer(() => this.#pool[Symbol.asyncDispose]());
    await this.#registry.closeAll({ save: this.policy.session.persist });
  }

  /** A new session from the pool, without an await: it has nothing on disk, and nobody else can know its id. */
  #takeReady(): Session | undefined {
    if (this.policy.session.persist || this.#owned.isShared || this.#slots.isFull) return undefined;
    const pooled = this.#pool.takeReady();
    if (!pooled) return undefined;
    pooled.session.managed.begin(pooled.live.id);
    this.#registry.add(pooled.session, undefined, { from: "new" });
    return pooled.session;
  }

  async #open(id: string, { waitMs = 0, quota }: OpenOptions): Promise<Session> {
    await using cleanup = new Cleanup();
    // Locked before the record is read: the record is what another process saved when it closed the session.
    const lock = await this.#owned.lock(id, { quota });
    cleanup.defer(() => lock?.[Symbol.asyncDispose]());
    const record = await this.#owned.saved(id);
    const lost = lock?.previous && lostNote(id, lock.previous, record);
    const release = await this.#slots.reserve(waitMs, () => this.#assertOpen());
    try {
      if (record) {
        await this.#owned.removeUnfinished(record.workspace);
        const session = this.#session(record);
        if (lost !== undefined) session.managed.adopted(lost);
        return await this.#admit(session, lock, cleanup, { from: "saved" });
      }
      const pooled = await this.#pool.take();
      cleanup.defer(() => pooled[Symbol.asyncDispose]());
      pooled.live.rename(id);
      if (lost !== undefined) pooled.live.addNote(lost);
      pooled.session.managed.begin(id);
      return await this.#admit(pooled.session, lock, cleanup, { from: "new" });
    } finally {
      release();
    }
  }

  /** Registers the session, which then owns what `undo` would undo. */
  async #admit(session: Session, held: HeldSession | undefined, undo: Cleanup, origin: Origin): Promise<Session> {
    if (held) session.managed.hold(held);
    // A saved session is on disk already, and can be opened even if the disk is full.
    if (this.policy.session.persist && origin.from !== "saved") await held?.write(session.record);
    this.#registry.add(session, held, origin);
    undo.move();
    return session;
  }

  #session(record: SessionRecord, live?: LiveSession): Session {
    const managed = new ManagedSession(
      {
        ...{ record, store: this.#store, now: this.#now, audit: this.audit },
        operatorPolicy: () => this.policy,
        nextRunner: () => this.runner,
        revive: (session) => this.#revive(session),
        forkInCall: (session, inCall) => this.#forkOf(session.key, undefined, { inCall }),
      },
      live,
    );
    return new Session(managed, this);
  }

  async #revive(session: ManagedSession): Promise<LiveSession> {
    const { key: id, record } = session;
    const workspace = this.#owned.mount(record.workspace);
    const asked = { isManaged: true, requestedRules: record.asked };
    const isElsewhere =
      workspace.workspace && isMounted(this.#live) && (await this.#owned.isElsewhere(record.workspace));
    const live = await this.#live.openSession({ id, ...workspace, ...asked }).catch(explainNoDescriptors);
    if (isElsewhere) live.addNote("its files are on the machine that it ran on before; here its workspace is empty");
    try {
      await session.restoreInto(live);
    } catch (error) {
      await live.close().catch(() => {}); // the caller is told why the restore failed; the next try needs a cell of its own
      throw error;
    }
    return live;
  }

  async #openPooled(): Promise<PooledSession> {
    const workspace = this.#owned.newWorkspace();
    const onStarted = this.#onCellStarted;
    const store = this.#store;
    const opening = this.#live.openSession({ ...this.#owned.mount(workspace), isManaged: true, onStarted });
    const live = await opening.catch(async (error: unknown) => {
      await store.workspaces.remove(workspace).catch(() => {});
      throw error;
    });
    return {
      live,
      session: this.#session(this.#owned.newRecord(live.id, workspace), live),
      async [Symbol.asyncDispose]() {
        await live.close();
        await store.workspaces.remove(workspace);
      },
    };
  }

  #assertOpen(): void {
    if (this.#closing) throw new CodecellError("session_closed", "this codecell is closed");
  }
}

/** Whether each session has its own directory on the host, mounted into its cell. */
function isMounted({ choice, policy }: LiveSessions): boolean {
  return choice.runner.takesWorkspace && policy.fs.workspace === undefined;
}

interface OpenOptions {
  /** @internal how many sessions the tenant may have in all processes */
  readonly quota?: number | undefined;
  /** how long to wait for a free slot */
  readonly waitMs?: number;
}

interface ForkOptions extends LockOptions {
  /** absent: no run waits for the fork */
  readonly inCall?: ForkInCall;
}

interface PooledSession extends AsyncDisposable {
  readonly live: LiveSession;
  /** made while the cell waits, so that handing it out takes no time */
  readonly session: Session;
}
