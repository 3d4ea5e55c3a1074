import type { OptionSpec } from "../shell/arguments.ts";
import type { CompletableCommand, CompletableEntry } from "./command-list.ts";
import { type OperandKind, operandsOf } from "./operands-of.ts";

export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** What a shell can complete. `kind`: whether it adds names of files or directories itself. */
export interface Completion {
  readonly kind: "words" | "files" | "dirs";
  readonly candidates: readonly Candidate[];
}

/** Names that only this machine knows. */
export interface LocalNames {
  /** `stateDir` as the user wrote it */
  sessions(stateDir: string | undefined): Promise<readonly string[]>;
  artifacts(session: string, stateDir: string | undefined): Promise<readonly string[]>;
}

const nothing: Completion = { kind: "words", candidates: [] };
const alternatives = /^[a-z0-9][a-z0-9-]*(?:\|[a-z0-9][a-z0-9-]*)+$/;

/**
 * Completes the last of these words, which may be empty; `codecell` itself is not among them. Everything comes from the
 * table of commands and their options, so nothing has to be kept up to date.
 */
export async function completeWords(
  words: readonly string[],
  commands: readonly CompletableEntry[],
  names: LocalNames,
): Promise<Completion> {
  const current = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const isHelp = before[0] === "help";
  const path = isHelp ? before.slice(1) : before;
  const entry = commandOf(path, commands);
  if (!entry) return isHelp && path.length > 1 ? nothing : wordsOf(commandWords(path, commands, isHelp), current);
  if (isHelp) return nothing;
  const command = await entry.load();
  return completeArguments(command, path.slice(entry.name.split(" ").length), current, names);
}

function commandOf(path: readonly string[], commands: readonly CompletableEntry[]): CompletableEntry | undefined {
  return [2, 1]
    .filter((length) => path.length >= length)
    .map((length) => commands.find(({ name }) => name === path.slice(0, length).join(" ")))
    .find((entry) => entry !== undefined);
}

/** The next word of a command's name. */
function commandWords(path: readonly string[], commands: readonly CompletableEntry[], isHelp: boolean): Candidate[] {
  if (path.length > 1) return [];
  const [group] = path;
  if (group !== undefined) {
    const members = commands.filter(({ name }) => name.startsWith(`${group} `));
    return members.map(({ name, summary }) => ({ value: name.slice(group.length + 1), description: summary }));
  }
  const found = new Map<string, string>();
  for (const { name, summary } of commands) {
    const [first = "", second] = name.split(" ");
    const known = found.get(first);
    found.set(first, second === undefined ? summary : known === undefined ? second : `${known}, ${second}`);
  }
  const own = [...found].map(([value, description]) => ({ value, description }));
  if (isHelp) return own;
  return [
    ...own,
    { value: "help", description: "Show the help of a command" },
    { value: "--help", description: "Show the commands" },
    { value: "--version", description: "Show the version" },
  ];
}

async function completeArguments(
  command: CompletableCommand,
  args: readonly string[],
  current: string,
  names: LocalNames,
): Promise<Completion> {
  const typed = readTyped(command, args);
  const { stateDir } = typed;
  if (typed.isAfterDashes) return { kind: "files", candidates: [] };
  if (typed.awaits) return valueWords(typed.awaits, current, names, stateDir);
  const [, option, written = ""] = /^--([\w-]+)=(.*)$/s.exec(current) ?? [];
  const spec = option === undefined ? undefined : specOf(command, option);
  if (option !== undefined) {
    if (spec?.type !== "string") return nothing;
    const { kind, candidates } = await valueWords([option, spec], written, names, stateDir);
    return { kind, candidates: candidates.map((one) => ({ ...one, value: `--${option}=${one.value}` })) };
  }
  if (current.startsWith("-") && current !== "-") return wordsOf(optionWords(command, typed.used), current);
  const { kinds, repeats } = operandsOf(command);
  const kind = kinds[typed.operands.length] ?? (repeats ? kinds.at(-1) : undefined);
  // With --session, the operands that remain are the files.
  const isNamed = typed.session !== undefined && kinds[0] === "session";
  const meant = isNamed ? (kinds[typed.operands.length + 1] ?? kinds[1]) : kind;
  const session = typed.session ?? typed.operands[0];
  const found = await operandWords(meant, current, names, session, stateDir);
  if (found.kind !== "words" || found.candidates.length > 0 || (current !== "" && current !== "-")) return found;
  return wordsOf(optionWords(command, typed.used), current);
}

interface Typed {
  readonly operands: readonly string[];
  readonly used: ReadonlySet<string>;
  /** the option whose value comes next */
  readonly awaits: readonly [string, OptionSpec] | undefined;
  readonly isAfterDashes: boolean;
  readonly session: string | undefined;
  readonly stateDir: string | undefined;
}

/** What the words before the current one say, as far as they can be understood. */
function readTyped(command: CompletableCommand, args: readonly string[]): Typed {
  const operands: string[] = [];
  const used = new Set<string>();
  const values = new Map<string, string>();
  let awaits: readonly [string, OptionSpec] | undefined;
  for (const word of args) {
    if (awaits) {
      values.set(awaits[0], word);
      awaits = undefined;
    } else if (word === "--") {
      return { operands, used, awaits, isAfterDashes: true, session: undefined, stateDir: undefined };
    } else if (word.startsWith("-") && word !== "-") {
      const [, long, value] = /^--([\w-]+)(?:=(.*))?$/s.exec(word) ?? [];
      const name = long ?? Object.entries(command.options).find(([, { short }]) => `-${short}` === word)?.[0];
      const spec = name === undefined ? undefined : specOf(command, name);
      if (name !== undefined && spec) {
        used.add(name);
        if (value !== undefined) values.set(name, value);
        else if (spec.type === "string") awaits = [name, spec];
      }
    } else operands.push(word);
  }
  return {
    operands,
    used,
    awaits,
    isAfterDashes: false,
    session: values.get("session"),
    stateDir: values.get("state-dir"),
  };
}

function specOf({ options }: CompletableCommand, name: string): OptionSpec | undefined {
  return Object.hasOwn(options, name) ? options[name] : undefined;
}

function optionWords({ options }: CompletableCommand, used: ReadonlySet<string>): Candidate[] {
  return Object.entries(options)
    .filter(([name, { multiple }]) => multiple === true || !used.has(name))
    .map(([name, { help }]) => ({ value: `--${name}`, description: help }));
}

async function valueWords(
  [name, { value = "" }]: readonly [string, OptionSpec],
  current: string,
  names: LocalNames,
  stateDir: string | undefined,
): Promise<Completion> {
  if (name === "session") return wordsOf(plain(await names.sessions(stateDir), "session"), current);
  if (name === "runner") return wordsOf(plain(await runnerNames(), "runner"), current);
  if (alternatives.test(value)) return wordsOf(plain(value.split("|"), ""), current);
  if (value === "DIR") return { kind: "dirs", candidates: [] };
  return /FILE|SRC/.test(value) ? { kind: "files", candidates: [] } : nothing;
}

async function runnerNames(): Promise<string[]> {
  const { isolationLevels, levelsWithoutRunner } = await import("../../../policy/isolation.ts"); // loads more than it needs
  return ["auto", ...isolationLevels.filter((level) => !levelsWithoutRunner.includes(level)), "kubernetes"];
}

async function operandWords(
  kind: OperandKind | undefined,
  current: string,
  names: LocalNames,
  session: string | undefined,
  stateDir: string | undefined,
): Promise<Completion> {
  if (kind === "file") return { kind: "files", candidates: [] };
  if (kind === "session") return wordsOf(plain(await names.sessions(stateDir), "session"), current);
  if (kind === "artifact" && session !== undefined) {
    return wordsOf(plain(await names.artifacts(session, stateDir), "file of the session"), current);
  }
  return typeof kind === "object" ? wordsOf(plain(kind, ""), current) : nothing;
}

function plain(values: readonly string[], description: string): Candidate[] {
  return values.map((value) => ({ value, description }));
}

function wordsOf(candidates: readonly Candidate[], current: string): Completion {
  return { kind: "words", candidates: candidates.filter(({ value }) => value.startsWith(current)) };
}
