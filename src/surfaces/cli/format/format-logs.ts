import { printable } from "../../../policy/file/problem.ts";
import { encodeTime } from "../../../service/wire/timestamp.ts";
import type { LoggedRun } from "../logs/logged-run.ts";
import { outputsJson, outputsText } from "../logs/outputs-text.ts";
import { formatBytes } from "./text/format-bytes.ts";
import { safeText } from "./text/safe-text.ts";
import type { Style } from "./text/style.ts";

const maxCodeLines = 10;

export interface LogFormat {
  readonly style: Style;
  /** all lines of the code */
  readonly isFull: boolean;
}

/** The line with which a run starts, and its code. */
export function startedText(run: LoggedRun, { style, isFull }: LogFormat): string {
  const language = run.language === "" ? "" : ` (${printable(run.language)})`;
  const lines = [`${style.dim(encodeTime(run.startedMs))} ${style.bold(nameOf(run))} started${language}`];
  if (run.code !== undefined) lines.push(...codeLines(run.code, run.isCodeCut === true, isFull, style));
  return `${lines.join("\n")}\n`;
}

/** What a run printed, as far as it is kept, and how it ended. */
export function endedText(run: LoggedRun, { style }: LogFormat): string {
  const { end } = run;
  if (!end) return "";
  const output = safeText(outputsText(run.outputs));
  const closed = output === "" || output.endsWith("\n") ? output : `${output}\n`;
  const status = end.status === "ok" ? style.green("ok") : style.red(printable(end.status));
  const facts = [
    `${status} in ${duration(end.durationMs)}`,
    ...(end.error === undefined ? [] : [printable(end.error)]),
    ...(end.exitCode === undefined || end.exitCode === 0 ? [] : [`exit code ${end.exitCode}`]),
    ...printed(run),
  ];
  return `${closed}${style.dim(encodeTime(end.endedMs))} ${style.bold(nameOf(run))} ${facts.join(", ")}\n`;
}

/** A whole run; of one without an end, that is said. */
export function runText(run: LoggedRun, format: LogFormat): string {
  const start = startedText(run, format);
  if (run.end) return start + endedText(run, format);
  return `${start}${" ".repeat(4)}${format.style.yellow("no end is recorded: it is still running, or its process was killed")}\n`;
}

export function runJson({ session, run, language, startedMs, code, isCodeCut, end, outputs }: LoggedRun): object {
  return {
    ...{ session_id: session, run, language: language || null, started_at: encodeTime(startedMs) },
    ...{ ended_at: end ? encodeTime(end.endedMs) : null, status: end?.status ?? null },
    ...{ duration_ms: end ? Math.round(end.durationMs) : null, error: end?.error ?? null },
    ...{ exit_code: end?.exitCode ?? null, printed_bytes: end?.printedBytes ?? null },
    ...{ code: code ?? null, code_truncated: isCodeCut === true, outputs: outputsJson(outputs) },
  };
}

function nameOf({ session, run }: LoggedRun): string {
  return `${printable(session)}#${run}`;
}

function codeLines(code: string, isCut: boolean, isFull: boolean, style: Style): string[] {
  const all = safeText(withoutLastLineEnds(code)).replaceAll("\r", "^M").split("\n");
  const shown = isFull ? all : all.slice(0, maxCodeLines);
  const more = all.length - shown.length;
  return [
    ...shown.map((line) => `    ${line}`),
    ...(more > 0 ? [style.dim(`    … ${more} more lines; --full shows them`)] : []),
    ...(isCut ? [style.dim("    … the audit has only the beginning")] : []),
  ];
}

/** Not with a pattern: it would take quadratic time for many line ends in the middle. */
function withoutLastLineEnds(code: string): string {
  let end = code.length;
  while (end > 0 && code[end - 1] === "\n") end--;
  return code.slice(0, end);
}

/** Says so if a run printed something that is not shown, so that an empty log does not look like an empty output. */
function printed({ end, outputs }: LoggedRun): string[] {
  if (!end?.printedBytes) return [];
  return [`printed ${formatBytes(end.printedBytes)}${outputs === undefined ? " (not kept)" : ""}`];
}

function duration(ms: number): string {
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 100) / 10} s`;
}
