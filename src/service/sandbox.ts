import { createHash } from "node:crypto";
import { HashCache } from "../artifacts/hash-cache.ts";
import { CodecellError } from "../lib/errors.ts";
import type { RunResult } from "../sessions/runs/run.ts";
import type { Session } from "../sessions/session.ts";
import { KeptOutput } from "./output/kept-output.ts";
import { RunRegistry, type RunRegistryOptions } from "./runs/run-registry.ts";
import type { Sessions } from "./tenants/tenant-sessions.ts";
import type { HostEffects } from "./tools/tool-hints.ts";

/** What a sandbox for tools is told. */
export interface SandboxOptions {
  /** Opens the sessions. The first tool that needs them calls it, and the next one if that failed. */
  readonly open: () => Promise<Sessions>;
  /** whether disposing the sandbox closes the sessions; default: true */
  readonly ownsSessions?: boolean;
  /** where relative paths of `rlm_load` start */
  readonly projectDir: string;
  readonly runs?: RunRegistryOptions;
  /** Makes links to the files of a session; undefined: no service gives them out. */
  readonly links?: (session: Session) => Promise<DownloadUrl | undefined>;
  /** what the policy lets code do outside its cell, for clients that ask people before a call */
  readonly effects?: HostEffects;
  /** the caller does not run this server, so errors do not tell it about the host */
  readonly isForGuests?: boolean;
}

/** A link to this content of a file, for anybody who has the link. */
export type DownloadUrl = (artifact: { readonly name: string; readonly sha256: string }) => string;

/** How long running code may take to stop before its cell is killed, when the server shuts down. */
const leavingGraceMs = 300;
const leavingLimitMs = 1_000;

/**
 * What all tools and surfaces of one caller share: sessions, runs, kept output, the default session. A connection owns
 * nothing here: sessions and runs are reached by their ids, from any connection that knows them.
 */
export class Sandbox implements AsyncDisposable {
  readonly runs: RunRegistry;
  readonly kept = new KeptOutput();
  readonly projectDir: string;
  /** tells clients that the list of files has changed */
  readonly artifactsChanged: () => void;
  /** digests of files that links were made for @internal */
  readonly digests = new HashCache();
  readonly #links: SandboxOptions["links"];
  readonly #open: () => Promise<Sessions>;
  readonly #ownsSessions: boolean;
  readonly #handles = new WeakMap<RunResult, string>();
  #sessions: Sessions | undefined;
  #opening: Promise<Sessions> | undefined;
  #defaultId: string | undefined;
  #defaultOpening: Promise<Session> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: SandboxOptions, artifactsChanged = () => {}) {
    this.#open = options.open;
    this.#ownsSessions = options.ownsSessions ?? true;
    this.projectDir = options.projectDir;
    this.#links = options.links;
    this.runs = new RunRegistry(options.runs);
    this.artifactsChanged = artifactsChanged;
  }

  /** The sessions if a tool has needed them; reading this opens nothing. */
  get opened(): Sessions | undefined {
    return this.#sessions;
  }

  /** A failure is not remembered: after installing what was missing, nobody has to restart the server. */
  sessions(): Promise<Sessions> {
    if (this.#closing) throw new CodecellError("session_closed", "the server is shutting down");
    this.#opening ??= this.#open().then(
      (sessions) => {
        this.#sessions = sessions;
        return sessions;
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
    const sessions = await this.sessions();
    return id === undefined ? sessions.session() : sessions.get(id);
  }

  /** Links to the files of a session that is open; opens nothing itself. */
  async linksOf(sessionId: string): Promise<DownloadUrl | undefined> {
    const session = this.#links && (await this.#sessions?.get(sessionId).catch(() => undefined));
    return session && this.#links?.(session);
  }

  /** The one session that the rlm tools share. Where sessions persist it belongs to the project, and comes back. */
  async defaultSession(): Promise<Session> {
    this.#defaultOpening ??= this.#openDefault().finally(() => {
      this.#defaultOpening = undefined;
    });
    return this.#defaultOpening;
  }

  /** The handle to read the full text of a run by: one per run, however often its result is asked for. */
  handleFor(result: RunResult): string {
    const known = this.#handles.get(result);
    if (known !== undefined && this.kept.has(known)) return known;
    const handle = this.kept.keep(result);
    this.#handles.set(result, handle);
    return handle;
  }

  /** Stops all runs; then, if the sessions are its own, saves persistent ones and closes every cell. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #openDefault(): Promise<Session> {
    const sessions = await this.sessions();
    if (this.#defaultId !== undefined) return sessions.session(this.#defaultId);
    const session = await this.#firstDefault(sessions);
    this.#defaultId = session.id;
    return session;
  }

  async #firstDefault(sessions: Sessions): Promise<Session> {
    if (!sessions.policy.session.persist) return sessions.session();
    const project = createHash("sha256").update(this.projectDir).digest("hex").slice(0, 16);
    try {
      return await sessions.session(`rlm-${project}`);
    } catch (error) {
      // a second server of the same project uses a session of its own
      if (error instanceof CodecellError && error.code === "session_busy") return sessions.session();
      throw error;
    }
  }

  async #close(): Promise<void> {
    const sessions = await this.#opening?.catch(() => undefined);
    if (!sessions) return;
    // A session cannot be saved while code runs in it.
    const running = this.runs.list().filter(({ status }) => status === "running");
    for (const { runId } of running) this.runs.cancel(runId, { graceMs: leavingGraceMs });
    const ends = running.map(({ runId }) => this.runs.wait(runId, { timeoutMs: leavingLimitMs }));
    await Promise.allSettled(ends);
    if (this.#ownsSessions) await sessions[Symbol.asyncDispose]();
  }
}
