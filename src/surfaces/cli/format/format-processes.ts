import { printable } from "../../../policy/file/problem.ts";
import { encodeTime } from "../../../service/wire/timestamp.ts";
import type { HoldingProcesses } from "../../../sessions/lifecycle/ask-processes.ts";
import type { ProcessStatus, SessionStatus } from "../../../sessions/lifecycle/process-status.ts";
import type { StoredSession } from "../../../sessions/storage/stored-sessions.ts";
import { formatAge } from "./text/format-age.ts";
import { formatBytes } from "./text/format-bytes.ts";
import { plural } from "./text/plural.ts";
import type { Style } from "./text/style.ts";
import { tableLines } from "./text/table.ts";

/** What `codecell ps` shows. */
export interface ProcessesView {
  readonly held: HoldingProcesses;
  /** sessions on disk that no process holds; empty without `--all` */
  readonly saved: readonly StoredSession[];
  /** whether processes without a session are shown */
  readonly all: boolean;
  readonly nowMs: number;
}

const columns = ["SESSION", "RUNNER", "STATE", "AGE", "MEMORY", "RUNS", "PROCESS"];

export function processesText(view: ProcessesView, style: Style, width: number): string {
  const { held, saved, all, nowMs } = view;
  const rows = [
    ...held.processes.flatMap((process) => processRows(process, all, nowMs)),
    ...saved.map((session) => savedRow(session, nowMs)),
  ];
  if (rows.length === 0) {
    return all ? "no sessions\n" : "no live sessions; `codecell ps --all` also lists saved ones\n";
  }
  const [header = "", ...body] = tableLines(columns, rows, width);
  return `${[style.dim(header), ...body].join("\n")}\n`;
}

function processRows(process: ProcessStatus, all: boolean, nowMs: number): string[][] {
  const where = `${printable(process.heldBy)} ${process.pid}`;
  const rows = process.sessions.map((session) => [...sessionCells(session, nowMs), where]);
  if (process.leftOut > 0) rows.push([`… ${process.leftOut} more`, "-", "-", "-", "-", "-", where]);
  if (rows.length > 0 || !all) return rows;
  const state = process.readyCells > 0 ? `${plural(process.readyCells, "cell")} ready` : "no session";
  return [["-", printable(process.runner), state, formatAge(nowMs - process.startedMs), "-", "-", where]];
}

function sessionCells(session: SessionStatus, nowMs: number): string[] {
  const { id, runner, activity, createdMs, usedMs, runs, busyMs, memoryBytes } = session;
  const since = activity === "running" ? busyMs : activity === "idle" ? nowMs - usedMs : undefined;
  const state = since === undefined ? activity : `${activity} ${formatAge(since)}`;
  const memory = memoryBytes === undefined ? "-" : formatBytes(memoryBytes);
  const name = id === undefined ? "(hidden)" : printable(id);
  return [name, printable(runner), state, formatAge(nowMs - createdMs), memory, String(runs)];
}

function savedRow(session: StoredSession, nowMs: number): string[] {
  if (session.state === "damaged") return [session.id, "-", "damaged", "-", "-", "-", "-"];
  const { createdMs, usedMs, runs, snapshot } = session.record;
  const runner = snapshot ? printable(snapshot.runner) : "-";
  const state = session.state === "live" ? "live" : `saved ${formatAge(nowMs - usedMs)}`;
  return [session.id, runner, state, formatAge(nowMs - createdMs), "-", String(runs), "-"];
}

/** One id per line. Sessions whose process hides their id are left out: nothing can be done with them by name. */
export function sessionIds({ held, saved }: ProcessesView): string[] {
  const live = held.processes.flatMap(({ sessions }) => sessions.flatMap(({ id }) => (id === undefined ? [] : [id])));
  return [...live, ...saved.map(({ id }) => id)].map((id) => `${printable(id)}\n`);
}

export function processesJson({ held, saved, all }: ProcessesView): object {
  const live = held.processes.flatMap((process) => process.sessions.map((session) => sessionJson(session, process)));
  const listed = all ? held.processes : held.processes.filter(({ sessions }) => sessions.length > 0);
  return {
    sessions: [...live, ...saved.map(savedJson)],
    processes: listed.map((process) => ({
      ...{ pid: process.pid, command: process.heldBy, runner: process.runner, state_dir: process.stateDir ?? null },
      ...{ started_at: encodeTime(process.startedMs), ready_cells: process.readyCells },
      ...{ sessions: process.sessions.length + process.leftOut, left_out: process.leftOut },
    })),
    unreachable_processes: held.silent,
  };
}

function sessionJson(session: SessionStatus, { pid, heldBy }: ProcessStatus): object {
  return {
    ...{ session_id: session.id ?? null, tenant: session.tenant ?? null, state: session.activity },
    ...{ runner: session.runner, runs: session.runs, running_ms: session.busyMs ?? null },
    ...{ memory_bytes: session.memoryBytes ?? null, persistent: session.isPersistent },
    ...{ created_at: encodeTime(session.createdMs), used_at: encodeTime(session.usedMs) },
    process: { pid, command: heldBy },
  };
}

function savedJson(session: StoredSession): object {
  const { id, state } = session;
  const unknown = { tenant: null, running_ms: null, memory_bytes: null, persistent: true, process: null };
  if (session.state === "damaged") {
    return { session_id: id, state, runner: null, runs: null, created_at: null, used_at: null, ...unknown };
  }
  const { createdMs, usedMs, runs, snapshot } = session.record;
  const times = { created_at: encodeTime(createdMs), used_at: encodeTime(usedMs) };
  return { session_id: id, state, runner: snapshot?.runner ?? null, runs, ...times, ...unknown };
}
