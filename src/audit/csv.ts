import type { AuditEntry } from "./read.ts";

/** The common columns; everything else is in the last one, as JSON. */
const columns = ["time", "chain", "seq", "type", "session", "run"] as const;

export const csvHeader = `${[...columns, "details"].join(",")}\r\n`;

/** One entry as a line of RFC 4180. */
export function csvLine({ time, chain, seq, event }: AuditEntry): string {
  const { type, session = "", run = "", ...details } = event;
  return `${[time, chain, seq, type, session, run, JSON.stringify(details)].map(cell).join(",")}\r\n`;
}

/** The attack: a file name or code that a spreadsheet runs as a formula. */
function cell(value: unknown): string {
  const text = String(value);
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
