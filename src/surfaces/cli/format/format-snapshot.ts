import { printable } from "../../../policy/file/problem.ts";
import { restoredNames } from "../../../service/wire/sessions/snapshot.ts";
import type { SnapshotInfo } from "../../../sessions/storage/session-record.ts";
import type { RestoreReport } from "../../../sessions/storage/session-saves.ts";
import { formatBytes } from "./text/format-bytes.ts";
import { plural } from "./text/plural.ts";
import type { Style } from "./text/style.ts";

export interface Missing {
  readonly name: string;
  readonly reason: string;
}

const maxShown = 20;

/** Names with reasons on one line. Both come from the program, so they are escaped. */
export function missingText(missing: readonly Missing[]): string {
  const shown = missing.slice(0, maxShown).map(({ name, reason }) => `${printable(name)} (${printable(reason, 200)})`);
  const more = missing.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

function namesText(names: readonly string[]): string {
  if (names.length === 0) return "none";
  const shown = names.slice(0, maxShown).map((name) => printable(name));
  const more = names.length - shown.length;
  return `${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** The variables in a save, and those that could not be saved. */
export function snapshotText(snapshot: SnapshotInfo, style: Style): string {
  const { saved, skipped, bytes, run, python, runner, files } = snapshot;
  const lines = [
    `saved after run ${run}: ${plural(saved.length, "variable")}, ${formatBytes(bytes)} (Python ${printable(python)}, ${printable(runner)} runner)`,
    `  ${namesText(saved)}`,
  ];
  if (files) lines.push(`  and ${plural(files.count, "file")}, ${formatBytes(files.bytes)}`);
  const missing = [...skipped, ...(files?.skipped ?? [])];
  if (missing.length > 0) lines.push(style.yellow(`not saved: ${missingText(missing)}`));
  return `${lines.join("\n")}\n`;
}

/** The variables that were restored, and those that were not. */
export function restoreText(id: string, report: RestoreReport | undefined, style: Style): string {
  if (!report) return `session ${id} has no saved variables; its files are available\n`;
  const { snapshot, failed, problem } = report;
  const names = restoredNames(report);
  const lines = [`session ${id}: restored ${plural(names.length, "variable")} from the save after run ${snapshot.run}`];
  if (names.length > 0) lines.push(`  ${namesText(names)}`);
  if (problem) lines.push(style.red(printable(problem.message, 500)));
  if (failed.length > 0) lines.push(style.red(`not restored: ${missingText(failed)}`));
  if (snapshot.skipped.length > 0) lines.push(style.yellow(`never saved: ${missingText(snapshot.skipped)}`));
  return `${lines.join("\n")}\n`;
}
