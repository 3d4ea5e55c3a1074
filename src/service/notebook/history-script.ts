import { printable } from "../../policy/file/problem.ts";
import type { HistoryEntry } from "../../sessions/storage/session-history.ts";

/** How much of its outputs a run shows in a script. */
const limits = { lines: 20, characters: 200 };

/**
 * The history of a session as a Python script in cells, as editors know them (`# %%`). Code that did not run to its end, and
 * code in another language, is a comment: a script with a syntax error would not run at all. Outputs are comments too.
 */
export function historyScript(session: string, runs: readonly HistoryEntry[]): string {
  const head = `# Session ${printable(session)}, exported by codecell. Each cell is one run.\n`;
  return [head, ...runs.map(cellOf)].join("\n");
}

function cellOf(run: HistoryEntry): string {
  const { language, status, atMs, code } = run;
  const facts = [new Date(atMs).toISOString(), printable(language), printable(status)].join(", ");
  const isRunnable = language === "python" && status === "ok";
  const body = isRunnable ? code.trimEnd() : comment(code.trimEnd(), "# ", Number.POSITIVE_INFINITY);
  return `# %% run ${run.run}: ${facts}\n${body}\n${outputsOf(run)}`;
}

function outputsOf({ outputs }: HistoryEntry): string {
  if (!outputs) return "";
  const { events, value, error } = outputs;
  const text = events.map((event) => {
    if (event.type !== "display") return event.text;
    return event.mime === "text/plain" ? "" : `[${event.mime}, ${event.data.byteLength} bytes]\n`;
  });
  const shown = [text.join(""), value ?? "", error ? `${error.name}: ${error.message}` : ""];
  return shown.map((one) => (one.trimEnd() === "" ? "" : `${comment(one.trimEnd(), "#> ", limits.lines)}\n`)).join("");
}

/** The attack: output with a carriage return, which ends a comment of Python, so that what follows becomes code of the script. */
function comment(text: string, prefix: string, maxLines: number): string {
  const all = text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/);
  const isCut = all.length > maxLines;
  const maxCharacters = Number.isFinite(maxLines) ? limits.characters : Number.POSITIVE_INFINITY;
  const shown = all.slice(0, maxLines).map((line) => `${prefix}${printable(line, maxCharacters)}`.trimEnd());
  return [...shown, ...(isCut ? [`${prefix}… ${all.length - maxLines} more lines`] : [])].join("\n");
}
