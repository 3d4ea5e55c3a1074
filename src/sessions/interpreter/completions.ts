import type { CompletionList } from "../../kernel/messages.ts";
import type { CodeTarget } from "./completion-target.ts";
import { isVariableName } from "./variable-name.ts";

/** What can replace the code from `start` to `end`. */
export interface Completions {
  readonly matches: readonly {
    readonly text: string;
    readonly kind: "value" | "function" | "class" | "module" | "property" | "keyword" | "key" | "file";
  }[];
  /** offsets in the code */
  readonly start: number;
  readonly end: number;
  /** whether the cell stopped looking, because of the number or the time */
  readonly truncated: boolean;
}

type Completion = Completions["matches"][number];

const kinds: ReadonlySet<string> = new Set<Completion["kind"]>([
  "function",
  "class",
  "module",
  "property",
  "key",
  "file",
]);

/** Control, format and other invisible characters. The attack: a key that holds an escape sequence of the terminal. */
const invisible = /[\p{C}\p{Zl}\p{Zp}]/u;

/** The cell's answer, without what does not fit the request: the cell may offer any text. */
export function completionsOf(target: CodeTarget | undefined, end: number, list?: CompletionList): Completions {
  if (!target) return { matches: [], start: end, end, truncated: false };
  const isName = target.kind !== "keys" && target.kind !== "files";
  const offered = (list?.matches ?? [])
    .filter(({ text }) => text.startsWith(target.prefix) && (isName ? isVariableName(text) : !invisible.test(text)))
    .map(({ text, kind }): Completion => ({ text: text + target.suffix, kind: kindOf(kind) }));
  const words = target.keywords.map((text): Completion => ({ text, kind: "keyword" }));
  const matches = [...words, ...offered].sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
  return { matches, start: target.start, end, truncated: list?.truncated ?? false };
}

function kindOf(kind: string): Completion["kind"] {
  return kinds.has(kind) ? (kind as Completion["kind"]) : "value";
}
