import { nearest } from "../../../policy/file/suggest.ts";
import { needsMoreLines } from "./python-block.ts";

/** What a person typed into the repl, once it is complete. */
export type ReplEntry =
  | { readonly kind: "nothing" | "more" | "vars" | "reset" | "help" | "exit" }
  | { readonly kind: "python" | "bash"; readonly code: string }
  | { readonly kind: "unknown"; readonly message: string };

const commands = ["vars", "reset", "help", "exit"] as const;

/** Decides what the lines typed so far are; `atEnd`: no more will come. */
export function readEntry(lines: readonly string[], atEnd = false): ReplEntry {
  const first = lines[0]?.trim() ?? "";
  if (lines.every((line) => line.trim() === "")) return { kind: "nothing" };
  if (first.startsWith("!")) return readShell(lines, atEnd);
  if (lines.length === 1 && first.startsWith("%")) return readCommand(first.slice(1));
  if (lines.length === 1 && /^(?:exit|quit)(?:\(\))?$/.test(first)) return { kind: "exit" };
  if (!atEnd && needsMoreLines(lines)) return { kind: "more" };
  return { kind: "python", code: lines.join("\n") };
}

function readShell(lines: readonly string[], atEnd: boolean): ReplEntry {
  if (!atEnd && /\\$/.test(lines.at(-1) ?? "")) return { kind: "more" };
  return { kind: "bash", code: lines.join("\n").trimStart().slice(1) };
}

function readCommand(text: string): ReplEntry {
  const kind = commands.find((one) => one === text);
  if (kind !== undefined) return { kind };
  const near = nearest(text, commands);
  return {
    kind: "unknown",
    message: `there is no %${text}${near === undefined ? "; %help lists them" : `; did you mean %${near}?`}`,
  };
}
