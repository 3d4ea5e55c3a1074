import type { LiveSession } from "../../../sessions/live-session.ts";
import { formatBytes } from "./text/format-bytes.ts";
import { safeText } from "./text/safe-text.ts";
import type { Style } from "./text/style.ts";
import { tableLines } from "./text/table.ts";

type Variables = Awaited<ReturnType<LiveSession["variables"]>>;

/** The session's variables as a table, each on one line. */
export function variablesText(variables: Variables, style: Style, width: number): string {
  if (variables.length === 0) return "no variables\n";
  const rows = variables.map(({ name, type, size, summary }) =>
    [name, type, size === undefined ? "" : formatBytes(size), summary].map(oneLine),
  );
  const [header = "", ...body] = tableLines(["NAME", "TYPE", "SIZE", "VALUE"], rows, width);
  return `${[style.dim(header), ...body].join("\n")}\n`;
}

/** Names and summaries come from the program, so line breaks are removed: none can forge a line of the table. */
function oneLine(text: string): string {
  return safeText(text.replace(/[\r\n\t]+/g, " "));
}
