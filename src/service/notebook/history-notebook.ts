import type { HistoryEntry } from "../../sessions/storage/session-history.ts";
import { lines, type NotebookOutput, notebookOutputs, streamOutput } from "./notebook-output.ts";

/** The history of a session as a notebook of the format 4.5: a cell per run, with its outputs as far as they are kept. */
export function historyNotebook(session: string, runs: readonly HistoryEntry[]): string {
  const notebook = {
    cells: runs.map((run, index) => ({
      cell_type: "code",
      execution_count: run.run,
      id: `run-${run.run}-${index}`, // after a crash of the host, a session may count a number again
      metadata: { codecell: factsOf(run) },
      outputs: outputsOf(run),
      source: lines(sourceOf(run)),
    })),
    metadata: {
      codecell: { session },
      kernelspec: { display_name: "Python 3", language: "python", name: "python3" },
      language_info: { name: "python" },
    },
    nbformat: 4,
    nbformat_minor: 5,
  };
  return `${JSON.stringify(notebook, null, 1)}\n`;
}

function factsOf({ status, atMs, durationMs, outputs, isSilent }: HistoryEntry): object {
  const isKept = isSilent || outputs !== undefined;
  const facts = { status, ended_at: new Date(atMs).toISOString(), duration_ms: Math.round(durationMs) };
  return isKept ? facts : { ...facts, outputs: "not kept" };
}

function sourceOf({ language, code }: HistoryEntry): string {
  return language === "python" ? code : `%%${language}\n${code}`;
}

function outputsOf({ run, status, outputs }: HistoryEntry): NotebookOutput[] {
  if (!outputs) return [];
  const { events, value, error, leftOutBytes } = outputs;
  const ending = { executionCount: run, status, value, error, reason: `the run ended with the status ${status}` };
  const made = notebookOutputs(events, ending);
  if (leftOutBytes === 0) return made;
  const note = `codecell: the history did not keep ${leftOutBytes.toLocaleString("en-US")} more bytes of output\n`;
  return [...made, streamOutput("stderr", note)];
}
