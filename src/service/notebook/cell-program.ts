import { printable } from "../../policy/file/problem.ts";
import type { Language } from "../../policy/languages.ts";
import { type LineMagic, percentLine, python, shellLine } from "./line-magic.ts";
import { pythonLines } from "./python-lines.ts";

/** What running a cell means. */
export type CellProgram =
  | { readonly kind: "empty" }
  /** a magic that codecell does not have; `line` is the cell's, from 1 */
  | { readonly kind: "refused"; readonly line: number; readonly problem: string }
  | ProgramToRun;

/** The code of a cell, without magics and with as many lines as before: line numbers of errors stay true. */
export interface ProgramToRun {
  readonly kind: "run";
  readonly language: Language;
  readonly code: string;
  /** one sentence per magic that does nothing */
  readonly notes: readonly string[];
  /** its Python code runs commands of a shell */
  readonly needsShell: boolean;
  /** `%%time`: how long it took belongs to its output */
  readonly isTimed: boolean;
  /** `%%capture`: its output is dropped */
  readonly isCaptured: boolean;
}

const displayed: Readonly<Record<string, string>> = {
  html: "text/html",
  HTML: "text/html",
  markdown: "text/markdown",
  latex: "text/latex",
  svg: "image/svg+xml",
  SVG: "image/svg+xml",
  javascript: "application/javascript",
  js: "application/javascript",
};

/** As much as a run takes. */
const maxCharacters = 2 * 1024 * 1024;

/** Turns the source of a code cell into a program. `mayInstall`: the policy has `kernel.packages.inside`. Pure: what IPython would do with a magic is decided here, on the host. */
export function cellProgram(source: string, language: Language = "python", mayInstall = false): CellProgram {
  if (source.trim() === "") return { kind: "empty" };
  if (source.length > maxCharacters) {
    return { kind: "refused", line: 1, problem: `it has ${source.length} characters; the limit is ${maxCharacters}` };
  }
  const plain = { kind: "run", notes: [], needsShell: false, isTimed: false, isCaptured: false } as const;
  if (language !== "python") return { ...plain, language, code: source };
  // Each character fits one place of this pattern. If a carriage return fitted two, Windows line ends would take exponential time.
  const [, before = "", name, rest = "", , body = ""] =
    /^((?:[ \t\r]*(?:#[^\n]*)?\n)*)[ \t]*%%(\w+)([^\n]*)(\n|$)([\s\S]*)$/.exec(source) ?? [];
  if (name === undefined) return pythonProgram(source, mayInstall);
  const argument = rest.trim();
  const line = before.split("\n").length;
  // The first line becomes an empty one, and those before it are comments.
  const sameLines = `${before}\n${body}`;
  const display = displayed[name];
  if (display !== undefined) {
    return { ...plain, language, code: `display({${python(display)}: ${python(body)}}, raw=True)` };
  }
  switch (name) {
    case "bash":
    case "sh":
      return argument === "" ? { ...plain, language: "bash", code: sameLines } : refused(`%%${name} ${argument}`, line);
    case "time":
      return argument === ""
        ? withFlag(pythonProgram(sameLines, mayInstall), { isTimed: true })
        : refused(`%%time ${argument}`, line);
    case "capture":
      return argument === ""
        ? withFlag(pythonProgram(sameLines, mayInstall), { isCaptured: true })
        : refused(`%%capture ${argument}`, line);
    case "file":
    case "writefile": {
      const [, append, file] = /^(-a\s+)?(?:--\s+)?(.+)$/.exec(argument) ?? [];
      if (file === undefined || file.startsWith("-")) return refused(`%%${name} ${argument}`, line);
      const path = python(file.replace(/^(["'])(.*)\1$/, "$2"));
      const [mode, verb] = append ? ["a", "Appending to"] : ["w", "Writing"];
      const write = `open(${path}, "${mode}", encoding="utf-8").write(${python(body)})`;
      return { ...plain, language, code: `${write}\nprint("${verb}", ${path})` };
    }
    default:
      return refused(`%%${name}`, line);
  }
}

function withFlag(program: CellProgram, flag: Partial<ProgramToRun>): CellProgram {
  return program.kind === "run" ? { ...program, ...flag } : program;
}

function refused(what: string, line: number): CellProgram {
  return { kind: "refused", line, problem: `codecell does not have the magic ${printable(what)}` };
}

function pythonProgram(source: string, mayInstall: boolean): CellProgram {
  if (source.trim() === "") return { kind: "empty" };
  const made: string[] = [];
  const notes: string[] = [];
  let needsShell = false;
  const lines = pythonLines(source);
  for (let index = 0; index < lines.length; index++) {
    const { text, isStart } = lines[index] as (typeof lines)[number];
    const found = isStart ? magicIn(text) : undefined;
    if (!found) {
      made.push(text);
      continue;
    }
    const at = index;
    // A command goes on in the next line after a backslash, as in the shell.
    const parts = [found.magic];
    if (/^[!%]/.test(found.magic)) {
      for (let last = found.magic; last.endsWith("\\") && index + 1 < lines.length; parts.push(last)) {
        parts.push((parts.pop() ?? "").slice(0, -1));
        last = lines[++index]?.text ?? "";
      }
    }
    const magic = parts.join("");
    // The kernel knows `%pip install` where the policy lets programs install.
    const isInstall = mayInstall && /^[%!]\s*(?:pip3?|python3? -m pip)\s+install\s/.test(magic);
    const line = isInstall ? undefined : lineOf(magic, found.isValue);
    if (line === undefined) {
      made.push(text);
      continue;
    }
    if (line.kind === "refused") return { kind: "refused", line: at + 1, problem: line.problem };
    if (line.note !== undefined) notes.push(line.note);
    needsShell ||= line.needsShell === true;
    made.push(`${found.before}${line.code}`);
    for (let gap = at; gap < index; gap++) made.push("");
  }
  return {
    ...{ kind: "run", language: "python", code: made.join("\n"), notes, needsShell },
    ...{ isTimed: false, isCaptured: false },
  };
}

interface FoundMagic {
  /** what stays: the indentation, or the target of an assignment */
  readonly before: string;
  readonly magic: string;
  readonly isValue: boolean;
}

/** `!ls`, `%cd data`, `x?` and `files = !ls`. */
function magicIn(text: string): FoundMagic | undefined {
  const code = text.trimStart();
  const before = text.slice(0, text.length - code.length);
  if (/^[!%?]/.test(code) || code.endsWith("?")) return { before, magic: code, isValue: false };
  const equals = text.indexOf("=") + 1;
  const value = text.slice(equals).trimStart();
  const target = text.slice(0, equals);
  if (equals === 0 || !/^[!%]/.test(value) || /[#'"]|[!<>]=/.test(target)) return undefined;
  return { before: `${target} `, magic: value, isValue: true };
}

/** Undefined: it is Python after all, or a mistake that Python explains better. */
function lineOf(text: string, isValue: boolean): LineMagic | undefined {
  if (text.startsWith("!!")) return shellLine(text.slice(2), true);
  if (text.startsWith("!")) return shellLine(text.slice(1), isValue);
  const [, name, argument = ""] = /^%(?!%)([A-Za-z_]\w*)(.*)$/.exec(text) ?? [];
  if (name !== undefined) return percentLine(name, argument);
  if (text.startsWith("%")) {
    const [word = ""] = text.split(/\s/);
    return { kind: "refused", problem: `${printable(word)} is only a magic in the first line of a cell` };
  }
  const [, asked] = /^\?{0,2}([A-Za-z_][\w.]*)\?{0,2}$/.exec(text.trim()) ?? [];
  return asked !== undefined && text.includes("?") ? { kind: "code", code: `help(${asked})` } : undefined;
}
