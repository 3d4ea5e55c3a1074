import { type JsonSpan, jsonSpans } from "./json-spans.ts";
import { tomlStatements } from "./toml-statements.ts";

/** The fields of our own entry that hold no secrets. */
const shownFields: ReadonlySet<string> = new Set(["type", "command", "args"]);

/**
 * Pure: the text of a client's JSON file, in which values and comments that may hold keys of servers are `…`. Only how our own entry is
 * started stays. A report of a change ends up in terminals, logs and the transcripts of agents.
 */
export function hideJsonValues(text: string, ours: readonly string[]): string {
  if (text.replace("\ufeff", "").trim() === "") return text;
  const hidden: JsonSpan[] = [];
  const walk = (span: JsonSpan, path: readonly string[]) => {
    if (span.kind === "object") for (const { key, value } of span.members) walk(value, [...path, key]);
    else if (!isShown(path, ours)) hidden.push(span);
  };
  walk(jsonSpans(text), []);
  const masked = hidden.reduceRight((rest, { start, end }) => `${rest.slice(0, start)}"…"${rest.slice(end)}`, text);
  return masked.replace(/("(?:[^"\\\n]|\\.)*")|\/\/[^\r\n]*|\/\*(?:[^*]|\*(?!\/))*\*\//g, (found, name) =>
    name === undefined ? (found.startsWith("//") ? "// …" : "/* … */") : found,
  );
}

/** Pure: the same for TOML. */
export function hideTomlValues(text: string, ours: readonly string[]): string {
  let shown = "";
  let at = 0;
  for (const { path, start, end, value } of tomlStatements(text)) {
    shown += withoutComments(text.slice(at, start));
    if (!value) shown += text.slice(start, end).replace(/][ \t]*#[^\r\n]*/, "] # …");
    else {
      shown += text.slice(start, value.start);
      shown += isShown(path, ours) ? text.slice(value.start, value.end) : '"…"';
      shown += withoutComments(text.slice(value.end, end));
    }
    at = end;
  }
  return shown + withoutComments(text.slice(at));
}

function withoutComments(text: string): string {
  return text.replace(/#[^\r\n]*/g, "# …");
}

function isShown(path: readonly string[], ours: readonly string[]): boolean {
  return (
    path.length === ours.length + 1 && ours.every((key, at) => path[at] === key) && shownFields.has(path.at(-1) ?? "")
  );
}
