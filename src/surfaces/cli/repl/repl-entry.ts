import { nearest } from "../../../policy/file/suggest.ts";
import { defaultLanguage, type Language, languageOfPrefix } from "../../../policy/languages.ts";
import { needsMoreLines } from "./python-block.ts";

/** A complete entry of the repl. */
export type ReplEntry =
  | { readonly kind: "nothing" | "more" | "vars" | "reset" | "help" | "exit" }
  | { readonly kind: "code"; readonly language: Language; readonly code: string }
  | { readonly kind: "unknown"; readonly message: string };

const commands = ["vars", "reset", "help", "exit"] as const;

/** Parses the lines typed so far; `atEnd`: there will be no more. */
export function readEntry(lines: readonly string[], atEnd = false): ReplEntry {
  const first = lines[0]?.trim() ?? "";
  if (lines.every((line) => line.trim() === "")) return { kind: "nothing" };
  const prefixed = languageOfPrefix(first);
  if (prefixed !== undefined) return readPrefixed(lines, atEnd, prefixed);
  if (lines.length === 1 && first.startsWith("%")) return readCommand(first.slice(1));
  if (lines.length === 1 && /^(?:exit|quit)(?:\(\))?$/.test(first)) return { kind: "exit" };
  if (!atEnd && needsMoreLines(lines)) return { kind: "more" };
  return { kind: "code", language: defaultLanguage, code: lines.join("\n") };
}

function readPrefixed(
  lines: readonly string[],
  atEnd: boolean,
  { language, prefix }: { readonly language: Language; readonly prefix: string },
): ReplEntry {
  if (!atEnd && /\\$/.test(lines.at(-1) ?? "")) return { kind: "more" };
  return { kind: "code", language, code: lines.join("\n").trimStart().slice(prefix.length) };
}

function readCommand(text: string): ReplEntry {
  const kind = commands.find((one) => one === text);
  if (kind !== undefined) return { kind };
  if (/^pip3?\s+install\b/.test(text)) {
    const message = "packages cannot be installed from inside a cell: start the repl with --with NAME";
    return { kind: "unknown", message: `${message}, or name them in the policy (kernel.packages)` };
  }
  const near = nearest(text, commands);
  return {
    kind: "unknown",
    message: `unknown command %${text}${near === undefined ? "; %help lists the commands" : `; did you mean %${near}?`}`,
  };
}
