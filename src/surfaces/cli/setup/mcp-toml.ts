import { CodecellError } from "../../../lib/errors.ts";
import type { McpEntry } from "./mcp-json.ts";
import { type TomlStatement, TomlSyntaxError, tomlStatements } from "./toml-statements.ts";

/** What a server at an address has, and one that is started does not: Codex refuses a table with both. */
const remoteKeys = ["url", "bearer_token_env_var", "http_headers", "env_http_headers"];

/**
 * Pure: adds `[mcp_servers.NAME]` to the text of Codex's `config.toml`, or removes it with its sub-tables. Everything else
 * stays, byte for byte; so do keys of our table that the user added, such as `startup_timeout_sec`. What is written in a
 * form that cannot be changed safely is refused.
 */
export function editMcpToml(
  text: string | undefined,
  name: string,
  entry: McpEntry | undefined,
  shown: string,
): string | undefined {
  const statements = parsed(text ?? "", shown);
  const ours = ["mcp_servers", name];
  assertPlain(statements, ours, text ?? "", shown);
  const header = statements.find(({ kind, path }) => kind === "table" && isSame(path, ours));
  if (entry === undefined) return text === undefined ? text : without(text, statements, ours);
  assertReplaceable(statements, ours, text ?? "", shown);
  if (!header) return appended(text ?? "", name, entry);
  return updated(text ?? "", statements, ours, header, entry);
}

function parsed(text: string, shown: string): TomlStatement[] {
  try {
    return tomlStatements(text);
  } catch (cause) {
    if (!(cause instanceof TomlSyntaxError || cause instanceof SyntaxError)) throw cause;
    const where = cause instanceof TomlSyntaxError ? ` (line ${cause.line})` : "";
    throw refused(shown, `it is not TOML${where}: ${cause.message}`, "fix the file first");
  }
}

/** TOML can say the same in other forms, to which no table can be added: inline tables, dotted keys, lists of tables. */
function assertPlain(statements: readonly TomlStatement[], ours: readonly string[], text: string, shown: string): void {
  const [root = ""] = ours;
  let table: readonly string[] = [];
  const headers = new Set<string>();
  for (const { kind, path, start } of statements) {
    const where = `line ${text.slice(0, start).split("\n").length}`;
    const name = JSON.stringify(path);
    if (kind !== "pair") table = path;
    if (kind === "table" && startsWith(path, ours)) {
      if (headers.has(name)) throw refused(shown, `${where}: [${path.join(".")}] is there twice`, "remove one of them");
      headers.add(name);
    }
    const isList = kind === "tables" && (isSame(path, [root]) || startsWith(path, ours));
    const isInline = kind === "pair" && (isSame(path, [root]) || (startsWith(path, ours) && !startsWith(table, ours)));
    if (!isList && !isInline) continue;
    const hint = `write it as a table [${ours.join(".")}], or add the server by hand; --print shows what it needs`;
    throw refused(shown, `${where}: ${path.join(".")} is written in a form that cannot be changed safely`, hint);
  }
}

/** A key of ours that is a table, or has dotted keys, cannot be given a value. */
function assertReplaceable(statements: readonly TomlStatement[], ours: readonly string[], text: string, shown: string) {
  for (const { kind, path, start } of statements) {
    const isPlain = kind === "pair" && path.length === ours.length + 1;
    if (isPlain || !startsWith(path, ours) || !["command", "args"].includes(path[ours.length] ?? "")) continue;
    const line = text.slice(0, start).split("\n").length;
    throw refused(shown, `line ${line}: ${path.join(".")} is not a plain value`, "remove it first");
  }
}

function appended(text: string, name: string, entry: McpEntry): string {
  const eol = eolOf(text);
  const gap = text === "" ? "" : text.endsWith("\n") ? eol : `${eol}${eol}`;
  const lines = [`[mcp_servers.${keyText(name)}]`, ...pairsOf(entry).map(([key, value]) => `${key} = ${value}`)];
  return `${text}${gap}${lines.join(eol)}${eol}`;
}

function updated(
  text: string,
  statements: readonly TomlStatement[],
  ours: readonly string[],
  header: TomlStatement,
  entry: McpEntry,
): string {
  const eol = eolOf(text);
  const pairs = statements.filter(({ kind, path }) => kind === "pair" && path.length === 3 && startsWith(path, ours));
  const changes: { start: number; end: number; text: string }[] = [];
  let added = "";
  for (const [key, value] of pairsOf(entry)) {
    const pair = pairs.find(({ path }) => path[2] === key);
    if (!pair?.value) added += `${key} = ${value}${eol}`;
    else changes.push({ ...pair.value, text: value });
  }
  const missingEol = text.slice(header.start, header.end).endsWith("\n") ? "" : eol;
  if (added !== "") changes.push({ start: header.end, end: header.end, text: missingEol + added });
  let isInRemote = false;
  for (const { kind, path, start, end } of statements) {
    const isRemote = startsWith(path, ours) && remoteKeys.includes(path[ours.length] ?? "");
    if (kind !== "pair") isInRemote = isRemote;
    if (isRemote || (kind === "pair" && isInRemote)) changes.push({ start, end, text: "" });
  }
  return applied(text, changes);
}

/** Removes our tables. Comments between them and the next table stay: they may belong to it. */
function without(text: string, statements: readonly TomlStatement[], ours: readonly string[]): string {
  const changes: { start: number; end: number; text: string }[] = [];
  for (const [index, header] of statements.entries()) {
    if (header.kind === "pair" || !startsWith(header.path, ours)) continue;
    let end = header.end;
    for (const one of statements.slice(index + 1)) {
      if (one.kind !== "pair") break;
      end = one.end;
    }
    const before = text.slice(0, header.start);
    const start = /(?:^|\n)\r?\n$/.test(before) ? before.replace(/\r?\n$/, "").length : header.start;
    changes.push({ start, end, text: "" });
  }
  return applied(text, changes);
}

function applied(text: string, changes: readonly { start: number; end: number; text: string }[]): string {
  // From the end, so that offsets stay right; what is inserted where something else is removed comes after the removal.
  const last = [...changes].sort((a, b) => b.start - a.start || b.end - a.end);
  return last.reduce((rest, change) => rest.slice(0, change.start) + change.text + rest.slice(change.end), text);
}

function pairsOf({ command, args }: McpEntry): [key: string, value: string][] {
  return [
    ["command", tomlString(command)],
    ["args", `[${args.map(tomlString).join(", ")}]`],
  ];
}

/** A JSON string is a TOML string, except that TOML wants DEL escaped. */
function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}

function keyText(name: string): string {
  return /^[A-Za-z0-9_-]+$/.test(name) ? name : tomlString(name);
}

function startsWith(path: readonly string[], start: readonly string[]): boolean {
  return start.every((part, index) => path[index] === part);
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && startsWith(a, b);
}

function eolOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

function refused(shown: string, why: string, hint: string): CodecellError {
  return new CodecellError("usage", `${shown} was not changed: ${why}`, { hint });
}
