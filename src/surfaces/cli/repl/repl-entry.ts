import { nearest } from "../../../policy/file/suggest.ts";
import { defaultLanguage, type Language, languageOfPrefix } from "../../../policy/languages.ts";
import { withoutIndentation } from "./pasted-lines.ts";
import { needsMoreLines } from "./python-block.ts";

/** A complete entry of the repl. */
export type ReplEntry =
  | { readonly kind: "nothing" | "more" | "vars" | "who" | "reset" | "help" | "exit" }
  | { readonly kind: "code"; readonly language: Language; readonly code: string }
  /** `x?` and `x??` */
  | { readonly kind: "inspect"; readonly name: string; readonly withSource: boolean }
  /** `x = !command` */
  | { readonly kind: "capture"; readonly name: string; readonly language: Language; readonly code: string }
  | { readonly kind: "history"; readonly limit: number }
  | { readonly kind: "unknown"; readonly message: string };

/** What a `%` can be followed by. `timeit` is a program: the kernel knows it. */
export const replCommands = ["exit", "help", "history", "reset", "timeit", "vars", "who", "whos"] as const;

const defaultHistory = 1000;
const name = "[\\p{ID_Start}_]\\p{ID_Continue}*";
const inspected = new RegExp(`^(\\?{0,2})(${name}(?:\\.${name})*)(\\?{0,2})$`, "u");
const assignedCommand = new RegExp(`^(${name})\\s*=\\s*(!.*)$`, "su");

const installLine = /^[%!]\s*(?:pip3?|python3? -m pip)\s+install\s/;

/** How far an entry is. */
export interface EntryState {
  /** there will be no more lines */
  readonly atEnd?: boolean;
  /** a part of it was pasted, so an empty line does not end a block */
  readonly isPasted?: boolean;
  /** the policy lets programs install packages (kernel.packages.inside), so the kernel knows `%pip install` */
  readonly mayInstall?: boolean;
}

/** Parses the lines typed so far. */
export function readEntry(lines: readonly string[], state: EntryState = {}): ReplEntry {
  const { atEnd = false, isPasted = false, mayInstall = false } = state;
  const first = lines[0]?.trim() ?? "";
  if (mayInstall && lines.length === 1 && installLine.test(first))
    return { kind: "code", language: defaultLanguage, code: first };
  if (lines.every((line) => line.trim() === "")) return { kind: "nothing" };
  const prefixed = languageOfPrefix(first);
  if (prefixed !== undefined) return readPrefixed(lines, atEnd, prefixed);
  const captured = assignedCommand.exec(lines.join("\n").trim());
  if (captured) return readCapture(lines, atEnd, captured);
  const single = lines.length === 1 ? readSingle(first) : undefined;
  if (single !== undefined) return single;
  if (!atEnd && needsMoreLines(lines, isPasted)) return { kind: "more" };
  // A line of a block may be recalled alone. IPython runs it too.
  return { kind: "code", language: defaultLanguage, code: withoutIndentation(lines).join("\n") };
}

function readSingle(line: string): ReplEntry | undefined {
  if (line.startsWith("%")) return readCommand(line);
  if (/^(?:exit|quit)(?:\(\))?$/.test(line)) return { kind: "exit" };
  if (line === "?") return { kind: "help" };
  const [, before = "", asked = "", after = ""] = inspected.exec(line) ?? [];
  if (before === "" && after === "") return undefined;
  return { kind: "inspect", name: asked, withSource: before === "??" || after === "??" };
}

function readPrefixed(
  lines: readonly string[],
  atEnd: boolean,
  { language, prefix }: { readonly language: Language; readonly prefix: string },
): ReplEntry {
  if (!atEnd && /\\$/.test(lines.at(-1) ?? "")) return { kind: "more" };
  return { kind: "code", language, code: lines.join("\n").trimStart().slice(prefix.length) };
}

function readCapture(
  lines: readonly string[],
  atEnd: boolean,
  [, target = "", command = ""]: RegExpExecArray,
): ReplEntry {
  const entry = readPrefixed(lines, atEnd, languageOfPrefix(command) ?? { language: "bash", prefix: "!" });
  if (entry.kind !== "code") return entry;
  return { kind: "capture", name: target, language: entry.language, code: command.slice(1) };
}

function readCommand(line: string): ReplEntry {
  const [, word = "", rest = ""] = /^%(\S*)\s*(.*)$/s.exec(line) ?? [];
  const command = replCommands.find((one) => one === word);
  if (command === "timeit") return { kind: "code", language: defaultLanguage, code: line };
  if (command === "history") return readHistory(rest);
  if (command !== undefined && rest === "") return { kind: command === "whos" ? "vars" : command };
  if (command !== undefined) return unknown(`%${command} takes no arguments`);
  if (/^pip3?$/.test(word)) {
    const message = "packages cannot be installed from inside a cell: start the repl with --with NAME";
    return unknown(`${message}, or name them in the policy (kernel.packages)`);
  }
  const near = nearest(word, replCommands);
  return unknown(
    `unknown command %${word}${near === undefined ? "; %help lists the commands" : `; did you mean %${near}?`}`,
  );
}

function readHistory(rest: string): ReplEntry {
  if (rest === "") return { kind: "history", limit: defaultHistory };
  if (/^[1-9]\d{0,5}$/.test(rest)) return { kind: "history", limit: Number(rest) };
  return unknown("%history takes the number of entries to show, such as %history 20");
}

function unknown(message: string): ReplEntry {
  return { kind: "unknown", message };
}
