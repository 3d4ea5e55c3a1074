import type { Session } from "../session.ts";
import { splitKey } from "../session-id.ts";

/** How long a process waits for the memory of its cells before it answers without. */
const measureMs = 500;
/** More than a session limit is ever set to; the answer stays below what `askProcesses` reads. */
const maxSessions = 1_000;

/** What a session is doing. `suspended`: open, but its cell has not started yet or is gone. */
export type Activity = "running" | "starting" | "saving" | "idle" | "suspended";

/** A session that a process holds open. */
export interface SessionStatus {
  /** absent: the process does not tell, because others could read the answer */
  readonly id?: string;
  /** the namespace of the tenant whose session it is */
  readonly tenant?: string;
  readonly runner: string;
  readonly activity: Activity;
  readonly createdMs: number;
  readonly usedMs: number;
  /** how many runs it has had, with the one that is running */
  readonly runs: number;
  /** how long the present run has been running */
  readonly busyMs?: number;
  readonly memoryBytes?: number;
  readonly isPersistent: boolean;
}

/** A process that holds sessions, and what it holds. */
export interface ProcessStatus {
  readonly pid: number;
  /** the command, such as `serve`; `library`: a program of the user */
  readonly heldBy: string;
  readonly runner: string;
  readonly startedMs: number;
  readonly stateDir?: string;
  /** cells of the pool that wait for a session */
  readonly readyCells: number;
  readonly sessions: readonly SessionStatus[];
  /** sessions that are not listed, because there are too many */
  readonly leftOut: number;
}

/** What of a codecell is asked. */
interface Holder {
  readonly runner: string;
  readonly poolStatistics: { readonly ready: number };
}

interface HolderFacts {
  readonly heldBy: string;
  readonly stateDir: string;
  readonly startedMs: number;
  /** no program of a cell can ask */
  readonly isPrivate: boolean;
}

/** What this process holds now. It is put together when somebody asks, so it is never out of date. */
export async function processStatus(
  holder: Holder,
  sessions: readonly Session[],
  { heldBy, stateDir, startedMs, isPrivate }: HolderFacts,
): Promise<ProcessStatus> {
  const listed = sessions.slice(0, maxSessions);
  return {
    ...{ pid: process.pid, heldBy, runner: holder.runner, startedMs, ...(isPrivate ? { stateDir } : {}) },
    readyCells: holder.poolStatistics.ready,
    sessions: await Promise.all(listed.map((session) => sessionStatus(session, isPrivate))),
    leftOut: sessions.length - listed.length,
  };
}

async function sessionStatus({ key, managed }: Session, isPrivate: boolean): Promise<SessionStatus> {
  const { runner, createdMs, usedMs, runs, isPersistent } = managed.info;
  const { busyMs } = managed.runs;
  const memoryBytes = managed.live?.isAlive ? await memoryOf(managed.live) : undefined;
  return {
    ...(isPrivate ? nameOf(key) : {}),
    ...{ runner, activity: activityOf(managed), createdMs, usedMs, runs, isPersistent },
    ...(busyMs === undefined ? {} : { busyMs: Math.round(busyMs) }),
    ...(memoryBytes === undefined ? {} : { memoryBytes }),
  };
}

function nameOf(key: string): { id: string; tenant?: string } {
  const { namespace, id } = splitKey(key);
  return namespace === undefined ? { id } : { id, tenant: namespace };
}

function activityOf({ runs, cell, saves, live, isBusy }: Session["managed"]): Activity {
  if (cell.isStarting) return "starting";
  if (runs.isBusy) return "running";
  if (saves.isSaving) return "saving";
  if (!live?.isAlive) return "suspended";
  return isBusy ? "running" : "idle";
}

async function memoryOf(live: NonNullable<Session["managed"]["live"]>): Promise<number | undefined> {
  const measured = live.usage().then(
    ({ memoryBytes }) => memoryBytes,
    () => undefined,
  );
  const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), measureMs).unref());
  return await Promise.race([measured, late]);
}
