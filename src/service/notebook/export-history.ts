import type { HistoryEntry } from "../../sessions/storage/session-history.ts";

/** The formats that a history can be exported in. */
export const exportFormats = ["ipynb", "py", "json"] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** Content types, for a download. */
export const exportTypes: Readonly<Record<ExportFormat, string>> = {
  ipynb: "application/x-ipynb+json",
  py: "text/x-python; charset=utf-8",
  json: "application/json; charset=utf-8",
};

/** The history of a session as a file. Loads only the writer that it needs: the command line pays for every import. */
export async function exportHistory(
  id: string,
  runs: readonly HistoryEntry[],
  format: ExportFormat,
  displayBytes = Number.POSITIVE_INFINITY,
): Promise<string> {
  if (format === "ipynb") {
    const { historyNotebook } = await import("./history-notebook.ts");
    return historyNotebook(id, runs);
  }
  if (format === "py") {
    const { historyScript } = await import("./history-script.ts");
    return historyScript(id, runs);
  }
  const { encodeHistoryRuns } = await import("../wire/sessions/history.ts");
  const json = JSON.stringify({ session_id: id, history: encodeHistoryRuns(runs, displayBytes) });
  return `${json.replace(/[\u007f-\u009f]/g, escaped)}\n`;
}

/** The attack: output with control characters, which JSON may contain and which a terminal obeys. */
function escaped(one: string): string {
  return `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
