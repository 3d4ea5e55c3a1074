import { printable } from "../../../policy/file/problem.ts";
import type { StoredSession } from "../../../sessions/storage/stored-sessions.ts";
import { formatAge } from "./text/format-age.ts";
import type { Style } from "./text/style.ts";
import { tableLines } from "./text/table.ts";

/** The sessions on disk as a table. */
export function sessionsText(sessions: readonly StoredSession[], nowMs: number, style: Style, width: number): string {
  if (sessions.length === 0) return "no sessions\n";
  const columns = ["ID", "STATE", "RUNS", "AGE", "LAST USE", "RUNNER", "VARIABLES"];
  const rows = sessions.map((session) => {
    if (session.state === "damaged") return [session.id, "damaged", "-", "-", "-", "-", "-"];
    const { createdMs, usedMs, runs, snapshot } = session.record;
    const ages = [formatAge(nowMs - createdMs), `${formatAge(nowMs - usedMs)} ago`];
    return [session.id, session.state, String(runs), ...ages, runnerOf(snapshot), variablesOf(snapshot)];
  });
  const [header = "", ...body] = tableLines(columns, rows, width);
  return `${[style.dim(header), ...body].join("\n")}\n`;
}

type Snapshot = Extract<StoredSession, { state: "saved" | "live" }>["record"]["snapshot"];

function runnerOf(snapshot: Snapshot): string {
  return snapshot ? printable(snapshot.runner) : "-";
}

function variablesOf(snapshot: Snapshot): string {
  if (!snapshot) return "none saved";
  const { saved, skipped } = snapshot;
  return skipped.length === 0 ? String(saved.length) : `${saved.length} (${skipped.length} not saved)`;
}
