import { createHash } from "node:crypto";
import { HashCache } from "../artifacts/hash-cache.ts";
import { CodecellError } from "../lib/errors.ts";
import type { RunResult } from "../sessions/runs/run.ts";
import type { Session } from "../sessions/session.ts";
import { KeptOutput } from "./output/kept-output.ts";
import { RunRegistry, type RunRegistryOptions } from "./runs/run-registry.ts";
import type { Sessions } from "./tenants/tenant-sessions.ts";

export interface SandboxOptions {
  /** Opens the manager. Called by the first tool that needs it, and again after it failed. */
  readonly open: () => Promise<Sessions>;
  /** where relative paths of `rlm_load` start */
  readonly projectDir: string;
  readonly runs?: RunRegistryOptions;
  /** Makes links to the files of a session; undefined: there is no service that would give them out. */
  readonly links?: (session: Session) => Promise<DownloadUrl | undefined>;
  /** whoever calls does not run this server: what fails here is told without what it says about the host */
  readonly isForGuests?: boolean;
}

/** A link to this content of a file, for whoever has it. */
export type DownloadUrl = (artifact: { readonly name: string; readonly sha256: string }) => string;

/** How long running code may take to stop before its cell is ended, when the server goes away. */
const leavingGraceMs = 300;
const leavingLimitMs = 1_000;

/**
 * Everything the tools of one server process share. A protocol connection owns nothing here: sessions and runs are
 * reached by their ids, from whichever connection knows them.
 */
export class Sandbox implements AsyncDisposable {
  readonly runs: RunRegistry;
  readonly kept = new KeptOutput();
  readonly projectDir: string;
  /** tells the clients that the list of files is another */
  readonly artifactsChanged: () => void;
  /** of files that were looked at for their links */
  readonly digests = new HashCache();
  readonly #links: SandboxOptions["links"];
  readonly #open: () => Promise<Sessions>;
  readonly #handles = new WeakMap<RunResult, string>();
  #manager: Sessions | undefined;
  #opening: Promise<Sessions> | undefined;
  #defaultId: string | undefined;
  #defaultOpening: Promise<Session> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: SandboxOptions, artifactsChanged = () => {}) {
    this.#open = options.open;
    this.projectDir = options.projectDir;
    this.#links = options.links;
    this.runs = new RunRegistry(options.runs);
    this.artifactsChanged = artifactsChanged;
  }

  /** The manager if a tool has needed it; asking does not open it. */
  get opened(): Sessions | undefined {
    return this.#manager;
  }

  /** A failure is not remembered: who installs what was missing need not restart the server. */
  manager(): Promise<Sessions> {
    if (this.#closing) throw new CodecellError("session_closed", "the server is shutting down");
    this.#opening ??= this.#open().then(
      (manager) => {
        this.#manager = manager;
        return manager;
      },
      (error: unknown) => {
        this.#opening = undefined;
        throw error;
      },
    );
    return this.#opening;
  }

  /** The session with this id, or a new one when there is no id. */
  async session(id?: string): Promise<Session> {
    const manager = await this.manager();
    return id === undefined ? manager.getOrCreate() : manager.get(id);
  }

  /** Links to the files of a session that is there; asking wakes nothing. */
  async linksOf(sessionId: string): Promise<DownloadUrl | undefined> {
    const session = this.#links && (await this.#manager?.get(sessionId).catch(() => undefined));
    return session && this.#links?.(session);
  }

  /** The one session that the rlm tools work in. Where sessions persist it is the project's, and comes back. */
  async defaultSession(): Promise<Session> {
    this.#defaultOpening ??= this.#openDefault().finally(() => {
      this.#defaultOpening = undefined;
    });
    return this.#defaultOpening;
  }

  /** Where the full text of a run is read: one handle per run, however often its result is asked for. */
  handleFor(result: RunResult): string {
    const known = this.#handles.get(result);
    if (known !== undefined && this.kept.has(known)) return known;
    const handle = this.kept.keep(result);
    this.#handles.set(result, handle);
    return handle;
  }

  /** Stops what runs, saves what persists and ends every cell. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #openDefault(): Promise<Session> {
    const manager = await this.manager();
    if (this.#defaultId !== undefined) return manager.getOrCreate(this.#defaultId);
    const session = await this.#firstDefault(manager);
    this.#defaultId = session.id;
    return session;
  }

  async #firstDefault(manager: Sessions): Promise<Session> {
    if (!manager.policy.session.persist) return manager.getOrCreate();
    const project = createHash("sha256").update(this.projectDir).digest("hex").slice(0, 16);
    try {
      return await manager.getOrCreate(`rlm-${project}`);
    } catch (error) {
      // a second server on the same project: it works in a session of its own
      if (error instanceof CodecellError && error.code === "session_busy") return manager.getOrCreate();
      throw error;
    }
  }

  async #close(): Promise<void> {
    const manager = await this.#opening?.catch(() => undefined);
    if (!manager) return;
    // A session that runs cannot be saved.
    const running = this.runs.list().filter(({ status }) => status === "running");
    for (const { runId } of running) this.runs.cancel(runId, { graceMs: leavingGraceMs });
    const ends = running.map(({ runId }) => this.runs.wait(runId, { timeoutMs: leavingLimitMs }));
    await Promise.allSettled(ends);
    await manager[Symbol.asyncDispose]();
  }
}
