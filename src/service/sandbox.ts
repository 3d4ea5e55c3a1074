import { createHash } from "node:crypto";
import { HashCache } from "../artifacts/hash-cache.ts";
import { CodecellError } from "../lib/errors.ts";
import type { RunResult } from "../sessions/runs/run.ts";
import type { Session } from "../sessions/session.ts";
import { KeptOutput } from "./output/kept-output.ts";
import type { ModelSource } from "./rlm/model-source.ts";
import type { SandboxModels } from "./rlm/sandbox-models.ts";
import type { TrajectoryPlace } from "./rlm/sub-agents.ts";
import { RunRegistry, type RunRegistryOptions } from "./runs/run-registry.ts";
import { SeenOutput } from "./runs/seen-output.ts";
import type { Sessions } from "./tenants/tenant-sessions.ts";
import type { FunctionFacts, PolicyFacts, PythonFacts } from "./tools/policy-facts.ts";
import { newSession } from "./tools/session-argument.ts";
import type { HostEffects } from "./tools/tool-hints.ts";

/** Options of a sandbox for tools. */
export interface SandboxOptions {
  /** Opens the sessions when a tool first needs them. If it fails, the next tool calls it again. */
  readonly open: () => Promise<Sessions>;
  /** whether disposing the sandbox closes the sessions; default: true */
  readonly ownsSessions?: boolean;
  /** base directory for relative paths of `rlm_load` */
  readonly projectDir: string;
  readonly runs?: RunRegistryOptions;
  /** Creates download links for the files of a session; undefined if no service serves them. */
  readonly links?: (session: Session) => Promise<DownloadUrl | undefined>;
  /** what the policy lets code do outside its cell; clients show it before a user allows a call */
  readonly effects?: HostEffects;
  /** what the policy gives to a program; models read it in the instructions and descriptions */
  readonly facts?: PolicyFacts;
  /** Is told what the interpreter has, after the first run that ended well. */
  readonly onPython?: (python: PythonFacts) => void;
  /** Is called before each run of a tool, such as to give the session functions of the host. */
  readonly prepareRun?: (session: Session) => Promise<void>;
  /** the operator's models, for code and sub-agents; absent: there are none */
  readonly models?: ModelSource | undefined;
  /** where trajectories of sub-agents are recorded; absent: nowhere */
  readonly trajectories?: TrajectoryPlace | undefined;
  /** functions of the host that programs may call; undefined: none, or not known yet */
  readonly functions?: () => FunctionFacts | undefined;
  /** whether the model has one tool that runs code, and no other of codecell: then no text may name another one; default: false */
  readonly hasOnlyTool?: boolean;
  /** the gateway that this is a part of; absent: the service is alone */
  readonly gateway?: { readonly idTag: string; readonly defaultSession: string } | undefined;
  /** whether the caller is someone other than the operator, so errors must not reveal anything about the host */
  readonly isForGuests?: boolean;
}

/** Creates a link to one version of a file. Anybody with the link can download it. */
export type DownloadUrl = (artifact: { readonly name: string; readonly sha256: string }) => string;

/** How long running code may take to stop before its cell is killed, when the server shuts down. */
const shutdownGraceMs = 300;
const shutdownLimitMs = 1_000;

/**
 * What all tools and surfaces of one caller share: sessions, runs, kept output, the default session. Nothing here belongs
 * to a connection: any connection that knows the id of a session or run can use it.
 */
export class Sandbox implements AsyncDisposable {
  readonly runs: RunRegistry;
  readonly kept: KeptOutput;
  readonly projectDir: string;
  /** whether no text for the model may name a tool */
  readonly hasOnlyTool: boolean;
  /** tells clients that the list of files has changed */
  readonly artifactsChanged: () => void;
  /** digests of linked files @internal */
  readonly digests = new HashCache();
  /** Is told once what the interpreter has @internal */
  onPython: SandboxOptions["onPython"];
  readonly #links: SandboxOptions["links"];
  readonly #prepare: SandboxOptions["prepareRun"];
  readonly #modelSource: ModelSource | undefined;
  readonly #trajectories: TrajectoryPlace | undefined;
  readonly #open: () => Promise<Sessions>;
  readonly #ownsSessions: boolean;
  readonly #gateway: SandboxOptions["gateway"];
  readonly #handles = new WeakMap<RunResult, string>();
  /** what a model has seen of the output of runs that it is waiting for @internal */
  readonly seen = new SeenOutput();
  #sessions: Sessions | undefined;
  #opening: Promise<Sessions> | undefined;
  #defaultId: string | undefined;
  #defaultOpening: Promise<Session> | undefined;
  #models: Promise<SandboxModels> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: SandboxOptions, artifactsChanged = () => {}) {
    this.#open = options.open;
    this.#ownsSessions = options.ownsSessions ?? true;
    this.hasOnlyTool = options.hasOnlyTool ?? false;
    this.projectDir = options.projectDir;
    this.#prepare = options.prepareRun;
    this.#modelSource = options.models;
    this.#trajectories = options.trajectories;
    this.#links = options.links;
    this.onPython = options.onPython;
    this.#gateway = options.gateway;
    const ids = options.gateway ? { idTag: options.gateway.idTag } : {};
    this.runs = new RunRegistry({ ...options.runs, ...ids });
    this.kept = new KeptOutput(ids);
    this.artifactsChanged = artifactsChanged;
  }

  /** The sessions, or undefined before the first call of `sessions`. */
  get opened(): Sessions | undefined {
    return this.#sessions;
  }

  /** Does not cache a failure: users can install what is missing without restarting the server. */
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

  /** Gives a session what its code may call. Call it before each run. */
  async prepareRun(session: Session): Promise<void> {
    await this.#prepare?.(session);
    if (this.#modelSource && session.policy.llm.models.length > 0) await (await this.models()).prepare(session);
  }

  /** @internal Models for code and sub-agents. Throws `model_unavailable` if the operator has set up none. */
  async models(): Promise<SandboxModels> {
    const source = this.#modelSource;
    if (!source) {
      throw new CodecellError("model_unavailable", "no model is set up here", {
        hint: "set CODECELL_MODEL and a key in the environment of codecell, and llm.models in the policy",
      });
    }
    this.#models ??= this.#openModels(source);
    return this.#models;
  }

  async #openModels(source: ModelSource): Promise<SandboxModels> {
    const { SandboxModels } = await import("./rlm/sandbox-models.ts");
    return new SandboxModels(source, await this.sessions(), this.#trajectories);
  }

  /** The session with this id; `new` starts another one, and no id means the default session. */
  async session(id?: string): Promise<Session> {
    if (id === undefined) return this.defaultSession();
    const sessions = await this.sessions();
    return id === newSession ? sessions.session() : sessions.get(id);
  }

  /** The end of a text that names a session; empty for the default one, which needs no name. */
  mention(sessionId: string): string {
    return sessionId === this.#defaultId ? "" : ` · session_id: ${sessionId}`;
  }

  /** The session of a run, if it is still open. */
  async openSession(sessionId: string): Promise<Session | undefined> {
    return this.#sessions?.get(sessionId).catch(() => undefined);
  }

  /** Download links for the files of a session. Never opens `sessions` itself. */
  async linksOf(sessionId: string): Promise<DownloadUrl | undefined> {
    const session = this.#links && (await this.#sessions?.get(sessionId).catch(() => undefined));
    return session && this.#links?.(session);
  }

  /** The session that all tools share unless they name another. If sessions persist, each project has one, and it is restored after a restart. */
  async defaultSession(): Promise<Session> {
    this.#defaultOpening ??= this.#openDefault().finally(() => {
      this.#defaultOpening = undefined;
    });
    return this.#defaultOpening;
  }

  /** The handle to read the full output of a run; the same run always gets the same one. Undefined if no tool takes handles. */
  handleFor(result: RunResult): string | undefined {
    if (this.hasOnlyTool) return undefined;
    const known = this.#handles.get(result);
    if (known !== undefined && this.kept.has(known)) return known;
    const handle = this.kept.keep(result);
    this.#handles.set(result, handle);
    return handle;
  }

  /** Stops all runs. Then, if it owns the sessions, saves persistent ones and closes every cell. */
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
    // Any gateway that is asked for it must mean the same one.
    if (this.#gateway) return sessions.session(this.#gateway.defaultSession);
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
    await (await this.#models?.catch(() => undefined))?.[Symbol.asyncDispose]();
    // A session cannot be saved while code runs in it.
    const running = this.runs.list().filter(({ status }) => status === "running");
    for (const { runId } of running) this.runs.cancel(runId, { graceMs: shutdownGraceMs });
    const ends = running.map(({ runId }) => this.runs.wait(runId, { timeoutMs: shutdownLimitMs }));
    await Promise.allSettled(ends);
    if (this.#ownsSessions) await sessions[Symbol.asyncDispose]();
  }
}
