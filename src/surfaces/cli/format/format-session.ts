import { printable } from "../../../policy/file/problem.ts";
import { encodeSessionDetail, type WireSessionDetail } from "../../../service/wire/sessions/session.ts";
import type { HistoryEntry } from "../../../sessions/storage/session-history.ts";
import type { SessionRecord } from "../../../sessions/storage/session-record.ts";
import type { FileList } from "../sessions/session-types.ts";
import { filesTable } from "./format-files.ts";
import { snapshotText } from "./format-snapshot.ts";
import { formatAge } from "./text/format-age.ts";
import { plural } from "./text/plural.ts";
import type { Style } from "./text/style.ts";
import { tableLines } from "./text/table.ts";

/** Everything that `sessions show` prints. */
export interface SessionFacts {
  readonly state: "saved" | "live";
  readonly record: SessionRecord;
  readonly history: readonly HistoryEntry[];
  /** the first files of the workspace; undefined: the session has no workspace on this host */
  readonly files: FileList | undefined;
}

export function sessionFactsJson({ state, record, history, files }: SessionFacts): WireSessionDetail {
  return encodeSessionDetail({ id: record.id, state, record }, history, files);
}

export function sessionFactsText(facts: SessionFacts, nowMs: number, style: Style, width: number): string {
  const { state, record, history, files } = facts;
  const { id, createdMs, usedMs, runs, snapshot } = record;
  const ages = `${formatAge(nowMs - createdMs)} old, used ${formatAge(nowMs - usedMs)} ago`;
  const sections = [
    `${style.bold(id)}: ${state}, ${plural(runs, "run")}, ${ages}\n`,
    snapshot ? snapshotText(snapshot, style) : "no saved variables\n",
  ];
  if (history.length > 0) sections.push(historyText(history, style, width));
  if (files === undefined) sections.push("no workspace on this host\n");
  else if (files.files.length === 0) sections.push("no files\n");
  else {
    const more = files.next ? `… and more; \`codecell artifacts ls ${id}\` lists them\n` : "";
    sections.push(filesTable(files.files, style, width) + more);
  }
  return sections.join("\n");
}

function historyText(history: readonly HistoryEntry[], style: Style, width: number): string {
  const rows = history.map(({ run, language, status, durationMs, code }) => {
    const [first = "", ...rest] = code.trim().split("\n");
    const shown = `${printable(first, 80)}${rest.length > 0 ? ` … (${rest.length} more lines)` : ""}`;
    return [String(run), printable(language), printable(status), `${Math.round(durationMs)} ms`, shown];
  });
  const [header = "", ...body] = tableLines(["RUN", "LANGUAGE", "STATUS", "TIME", "CODE"], rows, width);
  return `${[style.dim(header), ...body].join("\n")}\n`;
}
