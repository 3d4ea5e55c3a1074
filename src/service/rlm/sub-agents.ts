import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import type { ModelAccess } from "../../rlm/access/model-access.ts";
import type { OwnedCell } from "../../rlm/loop/cell.ts";
import type { RlmLimits } from "../../rlm/loop/limits.ts";
import { type RlmInput, type RlmResult, type RlmRun, runRlm } from "../../rlm/loop/run-rlm.ts";
import { copiedCell, forkedCell } from "../../rlm/loop/session-cell.ts";
import { noCost } from "../../rlm/trajectory/cost.ts";
import type { RlmEvent } from "../../rlm/trajectory/event.ts";
import type { Session } from "../../sessions/session.ts";

/** What a sub-agent is asked to do. */
export interface SubAgentRequest {
  readonly signature: string;
  /** values, or variables of the session, which are passed by reference */
  readonly inputs: Readonly<Record<string, RlmInput>>;
  readonly instructions?: string | undefined;
  /** may lower the policy's limits */
  readonly limits?: Partial<RlmLimits> | undefined;
}

/** How far a sub-agent is. */
export interface SubAgentState {
  readonly runId: string;
  readonly sessionId: string;
  readonly turn: number;
  readonly turns: number;
  readonly calls: number;
  readonly usd: number;
  /** absent: it is still working */
  readonly result?: RlmResult;
  readonly trajectoryPath?: string;
  /** what its caller may know: the path, or for a caller who must not see paths of the host, an id */
  readonly trajectory?: string;
}

/** Where trajectories are recorded: a directory, or one per session, whose path callers must not see. */
export type TrajectoryPlace = string | { readonly directoryOf: (session: Session) => string };

/** The variable of the session that holds the outputs of the last sub-agent. */
export const resultVariable = "_sub_agent_result";

const maxRunning = 4;
const maxKept = 50;

interface Kept {
  readonly run: RlmRun;
  readonly session: Session;
  readonly ended: Promise<RlmResult>;
  readonly trajectoryPath: string | undefined;
  turn: number;
  turns: number;
  calls: number;
  usd: number;
  result: RlmResult | undefined;
}

/** Sub-agents of one client. They go on when the call that started them returns, and end with the sandbox. */
export class SubAgents implements AsyncDisposable {
  readonly #access: () => Promise<ModelAccess>;
  readonly #trajectories: TrajectoryPlace | undefined;
  readonly #newSession: () => Promise<Session>;
  readonly #kept = new Map<string, Kept>();
  #starting = 0;

  /** `newSession` opens a session for runners that cannot fork. */
  constructor(options: {
    readonly access: () => Promise<ModelAccess>;
    readonly newSession: () => Promise<Session>;
    /** directory for trajectories; absent: they are not recorded */
    readonly trajectories?: TrajectoryPlace | undefined;
  }) {
    this.#access = options.access;
    this.#newSession = options.newSession;
    this.#trajectories = options.trajectories;
  }

  /** Starts a sub-agent in a copy of the session. */
  async start(session: Session, request: SubAgentRequest): Promise<string> {
    this.#checkLimit();
    // Counted before the first await: starts that overlap would all see the same free place.
    this.#starting++;
    try {
      return await this.#start(session, request);
    } finally {
      this.#starting--;
    }
  }

  #checkLimit(): void {
    const running = [...this.#kept.values()].filter(({ result }) => result === undefined);
    const count = running.length + this.#starting;
    if (count < maxRunning) return;
    const ids = running.map(({ run }) => run.id).join(", ");
    throw new CodecellError("run_limit", `${count} sub-agents are working; the limit is ${maxRunning}`, {
      hint: `wait for one with rlm_run${ids === "" ? "" : `, or cancel it: ${ids}`}`,
    });
  }

  async #start(session: Session, request: SubAgentRequest): Promise<string> {
    const access = await this.#access();
    const cell = await this.#copyOf(session, request);
    try {
      const trajectoryPath = await this.#newTrajectory(session);
      const run = runRlm({
        ...{ signature: request.signature, inputs: request.inputs, cell, root: access.root, sub: access.sub },
        ...{ limits: access.limits(request.limits), budget: access.budget },
        models: access.gateway({ session: session.key, audit: session.managed.audit?.audit }),
        ...(access.models.prices && { prices: access.models.prices }),
        ...(request.instructions === undefined ? {} : { instructions: request.instructions }),
        ...(trajectoryPath === undefined ? {} : { trajectoryPath }),
      });
      this.#keep(run, session, cell, trajectoryPath);
      return run.id;
    } catch (error) {
      await cell[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Its state after it ended, or after `waitMs`. */
  async wait(runId: string, { waitMs, signal }: { waitMs: number; signal: AbortSignal }): Promise<SubAgentState> {
    const kept = this.#find(runId);
    if (kept.result === undefined && waitMs > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, waitMs);
        const done = () => {
          clearTimeout(timer);
          signal.removeEventListener("abort", done);
          resolve();
        };
        if (signal.aborted) done();
        signal.addEventListener("abort", done, { once: true });
        void kept.ended.then(done);
      });
    }
    return stateOf(kept, typeof this.#trajectories === "string");
  }

  cancel(runId: string): void {
    this.#find(runId).run.cancel("the caller cancelled it");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { run } of this.#kept.values()) run.cancel("the server is shutting down");
    await Promise.allSettled([...this.#kept.values()].map(({ ended }) => ended));
  }

  #keep(run: RlmRun, session: Session, cell: OwnedCell, trajectoryPath: string | undefined): void {
    const counts = { turn: 0, turns: 0, calls: 0, usd: 0, result: undefined };
    const ended = this.#finish(run, session, cell);
    const kept: Kept = { run, session, ended, trajectoryPath, ...counts };
    void ended.then((result) => {
      kept.result = result;
    });
    void follow(run, kept);
    this.#kept.set(run.id, kept);
    for (const [id, { result }] of this.#kept) {
      if (this.#kept.size <= maxKept) break;
      if (result !== undefined) this.#kept.delete(id);
    }
  }

  /** Never rejects: a sub-agent whose outputs cannot be stored has ended too. */
  async #finish(run: RlmRun, session: Session, cell: OwnedCell): Promise<RlmResult> {
    try {
      const result = await run.result.catch(failedResult);
      if (result.outputs === null) return result;
      const error = await session.set(resultVariable, result.outputs).then(() => undefined, asCodecellError);
      return error ? { ...result, finish: "error", outputs: null, message: error.message, error } : result;
    } finally {
      await Promise.resolve(cell[Symbol.asyncDispose]()).catch(() => {}); // its cell may be gone
    }
  }

  /** Its variables by reference where the runner can fork; otherwise the variables that the inputs name, by value. */
  async #copyOf(session: Session, { inputs }: SubAgentRequest): Promise<OwnedCell> {
    const { features } = await session.wake();
    if (features.includes("fork")) return forkedCell(session);
    const names = Object.values(inputs).flatMap((input) => ("var" in input ? [input.var] : []));
    return copiedCell(session, await this.#newSession(), names);
  }

  async #newTrajectory(session: Session): Promise<string | undefined> {
    const place = this.#trajectories;
    if (place === undefined) return undefined;
    const directory = typeof place === "string" ? place : place.directoryOf(session);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const time = new Date().toISOString().replaceAll(/[:.]/g, "-");
    return join(directory, `${time}-${randomBytes(8).toString("hex")}.jsonl`);
  }

  #find(runId: string): Kept {
    const kept = this.#kept.get(runId);
    if (kept) return kept;
    throw new CodecellError("run_gone", `there is no sub-agent ${JSON.stringify(runId.slice(0, 80))}`, {
      hint: "use the run_id that rlm_sub_agent returned; only the latest ones are kept",
    });
  }
}

function asCodecellError(error: unknown): CodecellError {
  return error instanceof CodecellError ? error : new CodecellError("internal", messageOf(error), { cause: error });
}

/** The trajectory could not be written, so nobody knows what the run did. */
function failedResult(cause: unknown): RlmResult {
  const error = asCodecellError(cause);
  return {
    ...{ finish: "error", outputs: null, message: error.message, error, iterations: 0 },
    ...{ usage: { byModel: {}, total: noCost }, calls: 0, cacheHits: 0, durationMs: 0 },
  };
}

async function follow(run: RlmRun, kept: Kept): Promise<void> {
  for await (const event of run.events) count(event, kept);
}

function count(event: RlmEvent, kept: Kept): void {
  if (event.type === "turn_start" && event.run === kept.run.id) {
    kept.turn = event.turn;
    kept.turns = event.of;
  }
  if (event.type !== "lm_response") return;
  kept.calls++;
  kept.usd += event.usd ?? 0;
}

function stateOf(kept: Kept, showsPath: boolean): SubAgentState {
  const { run, session, turn, turns, calls, usd, result, trajectoryPath: path } = kept;
  return {
    ...{ runId: run.id, sessionId: session.id, turn, turns, calls, usd },
    ...(result === undefined ? {} : { result }),
    ...(path === undefined ? {} : { trajectoryPath: path, trajectory: showsPath ? path : basename(path, ".jsonl") }),
  };
}
