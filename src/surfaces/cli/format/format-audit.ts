import { printable } from "../../../policy/file/problem.ts";
import type { AuditEntry, AuditReport } from "../../../service/audit/audit-files.ts";
import { formatBytes } from "./text/format-bytes.ts";
import { plural } from "./text/plural.ts";
import { safeText } from "./text/safe-text.ts";
import type { Style } from "./text/style.ts";

const maxFactCharacters = 120;
/** Fields that are left out of the one-line form. */
const leftOut = new Set([
  "type",
  "session",
  "run",
  "policy",
  "code",
  "codeHash",
  "sha256",
  "hash",
  "others",
  "network",
]);

/** An entry as one object, for programs. */
export function entryJson({ chain, seq, time, event }: AuditEntry): object {
  return { time, ...event, chain, seq };
}

/** An entry on one line. */
export function entryLine({ time, event }: AuditEntry, style: Style): string {
  const { type, session, run } = event;
  const where = session === undefined ? "" : ` ${printable(String(session))}${run === undefined ? "" : `#${run}`}`;
  const facts = Object.entries(event).flatMap(([name, value]) => fact(name, value));
  return `${style.dim(time)} ${style.bold(printable(type))}${where}${facts.length > 0 ? ` ${facts.join(" ")}` : ""}\n`;
}

function fact(name: string, value: unknown): string[] {
  if (leftOut.has(name) || value === undefined || value === null || value === false) return [];
  if (Array.isArray(value)) return value.length === 0 ? [] : [`${name}=${value.length}`];
  const isSize = name.endsWith("Bytes") || name === "bytes" || name === "size";
  if (isSize && typeof value === "number") return value === 0 ? [] : [`${name}=${formatBytes(value).replace(" ", "")}`];
  if (typeof value === "number") return [`${name}=${Math.round(value * 10) / 10}`];
  return [`${name}=${printable(String(value), maxFactCharacters)}`];
}

/** Everything about an entry, with the code as it was run. */
export function entryText(entry: AuditEntry, style: Style): string {
  const { code, ...rest } = entry.event;
  const lines = [`${style.dim(`${entry.time} ${entry.chain}:${entry.seq}`)} ${style.bold(printable(rest.type))}`];
  for (const [name, value] of Object.entries(rest)) {
    if (name === "type" || (Array.isArray(value) && value.length === 0)) continue;
    if (Array.isArray(value)) {
      lines.push(`  ${name}:`, ...value.map((item) => `    ${printable(itemText(item), 500)}`));
    } else lines.push(`  ${name}: ${printable(String(value), 500)}`);
  }
  if (typeof code === "string") {
    lines.push(
      "  code:",
      ...safeText(code)
        .replaceAll("\r", "^M")
        .split("\n")
        .map((line) => `    ${line}`),
    );
  }
  return `${lines.join("\n")}\n`;
}

function itemText(item: unknown): string {
  if (typeof item !== "object" || item === null) return String(item);
  return Object.values(item).join("  ");
}

/** What `audit verify` found. */
export function reportText({ isSound, chains, problems }: AuditReport, style: Style): string {
  if (chains.length === 0 && problems.length === 0) return "nothing to verify: there is no audit\n";
  const lines = chains.map((chain) => {
    const bad = problems.some((problem) => problem.chain === chain.chain);
    const span = chain.firstTime === undefined ? "" : `, ${chain.firstTime} to ${chain.lastTime}`;
    const remarks = [
      ...(chain.isLive ? ["still being written"] : []),
      ...(chain.lostEvents > 0 ? [`${plural(chain.lostEvents, "event")} could not be written`] : []),
      ...(chain.tornParts > 0 ? [tornText(chain)] : []),
      ...(chain.prunedThrough > 0 ? [`the retention policy removed lines up to ${chain.prunedThrough}`] : []),
    ];
    const state = bad ? style.red("NOT SOUND") : style.green("sound");
    const rest = remarks.length > 0 ? ` (${remarks.join("; ")})` : "";
    const size = `${plural(chain.lines, "line")} in ${plural(chain.files, "file")}`;
    return `${chain.chain}: ${state}, ${size}${span}${rest}`;
  });
  for (const { chain, file, line, message } of problems) {
    const place = [chain, ...(file === undefined ? [] : [file])].join("/");
    lines.push(`${style.red("problem:")} ${place}${line === undefined ? "" : `:${line}`} ${message}`);
  }
  lines.push(
    isSound ? "the audit is intact" : `${plural(problems.length, "problem")}: the audit was changed or damaged`,
  );
  return `${lines.join("\n")}\n`;
}

function tornText({ tornParts, tornBytes }: { readonly tornParts: number; readonly tornBytes: number }): string {
  const crashes = tornParts === 1 ? "a crash" : `${tornParts} crashes`;
  return `${formatBytes(tornBytes)} torn by ${crashes}, sealed since`;
}
