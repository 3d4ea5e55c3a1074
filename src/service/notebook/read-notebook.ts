import { CodecellError } from "../../lib/errors.ts";
import { printable } from "../../policy/file/problem.ts";
import type { Language } from "../../policy/languages.ts";
import {
  checkEnd,
  type JsonMember,
  JsonProblem,
  type JsonSpan,
  jsonItems,
  jsonMembers,
  scanJson,
} from "./json-scanner.ts";

/** One cell of a notebook. */
export interface NotebookCell {
  /** its place in the notebook, from 1; cells of text count too */
  readonly number: number;
  readonly type: "code" | "markdown" | "raw";
  readonly source: string;
  readonly tags: readonly string[];
  /** where it is in the notebook's text */
  readonly span: JsonSpan;
  readonly members: readonly JsonMember[];
}

/** A notebook as it was read. Its text is kept, so that a copy with other outputs has every other byte. */
export interface Notebook {
  readonly text: string;
  /** minor version of the format, 4.x */
  readonly minor: number;
  readonly language: Language;
  readonly cells: readonly NotebookCell[];
}

/** A larger file is mostly outputs. */
export const maxNotebookBytes = 64 * 1024 * 1024;

const cellTypes: readonly unknown[] = ["code", "markdown", "raw"] satisfies NotebookCell["type"][];

/** Reads a notebook of the format 4. What is wrong with it is a `usage` error that names the line. `shown`: the file's name. */
export function readNotebook(bytes: Uint8Array, shown: string): Notebook {
  const name = printable(shown, 400);
  const text = decode(bytes, name);
  try {
    return notebookOf(text);
  } catch (error) {
    if (!(error instanceof JsonProblem)) throw error;
    throw new CodecellError("usage", `${name}:${placeOf(text, error.at)}: ${error.message}`, {
      hint:
        error.hint ??
        "the file is not a valid notebook, and nothing was run; open it in Jupyter, or restore it from a backup",
      cause: error,
    });
  }
}

function decode(bytes: Uint8Array, name: string): string {
  if (bytes.byteLength > maxNotebookBytes) {
    const message = `${name} is larger than ${maxNotebookBytes / 1024 / 1024} MiB`;
    const hint = "remove its outputs first: jupyter nbconvert --clear-output --inplace FILE";
    throw new CodecellError("too_large", message, { hint });
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new CodecellError("usage", `${name} is not UTF-8 text, so it is not a notebook`, { cause });
  }
}

function notebookOf(text: string): Notebook {
  if (text.trim() === "") throw new JsonProblem(0, "the file is empty");
  const whole = scanJson(text);
  checkEnd(text, whole);
  const members = jsonMembers(text, whole);
  if (!members) throw new JsonProblem(whole.start, "a notebook is a JSON object");
  refuseDuplicates(members, "the notebook");
  const minor = minorVersion(text, whole, members);
  const cells = member(members, "cells");
  if (!cells) throw new JsonProblem(whole.start, 'the notebook has no "cells"');
  const items = jsonItems(text, cells.value);
  if (!items) throw new JsonProblem(cells.value.start, '"cells" must be a list');
  const metadata = member(members, "metadata");
  if (!metadata) throw new JsonProblem(whole.start, 'the notebook has no "metadata"');
  const language = languageOf(text, metadata);
  return { text, minor, language, cells: items.map((span, index) => cellOf(text, span, index + 1)) };
}

/** Which 4.x it is. Another major version has other fields. */
function minorVersion(text: string, whole: JsonSpan, members: readonly JsonMember[]): number {
  const major = member(members, "nbformat");
  if (!major) throw new JsonProblem(whole.start, 'it has no "nbformat", so it is not a notebook');
  const version = parsedAt(text, major.value);
  if (typeof version === "number" && Number.isInteger(version) && version !== 4) {
    const how = version < 4 ? "convert it: jupyter nbconvert --to notebook --nbformat 4 FILE" : "save it as format 4";
    const hint = `nothing was run; ${how}`;
    throw new JsonProblem(major.value.start, `the notebook has format ${version}; codecell reads format 4`, hint);
  }
  if (version !== 4) throw new JsonProblem(major.value.start, '"nbformat" must be the number 4');
  const minor = member(members, "nbformat_minor");
  if (!minor) throw new JsonProblem(whole.start, 'it has no "nbformat_minor"');
  const number = parsedAt(text, minor.value);
  if (typeof number === "number" && Number.isInteger(number) && number >= 0) return number;
  throw new JsonProblem(minor.value.start, '"nbformat_minor" must be a whole number');
}

function languageOf(text: string, metadata: JsonMember): Language {
  const value = parsedAt(text, metadata.value);
  if (!isObject(value)) throw new JsonProblem(metadata.value.start, '"metadata" must be an object');
  const { language_info: info, kernelspec } = value;
  const name = (isObject(info) ? info.name : undefined) ?? (isObject(kernelspec) ? kernelspec.language : undefined);
  if (typeof name !== "string" || /^i?python[23]?$/i.test(name)) return "python";
  if (/^(?:bash|sh)$/i.test(name)) return "bash";
  const what = `its cells are written in ${JSON.stringify(printable(name))}`;
  throw new JsonProblem(metadata.value.start, `${what}; codecell runs notebooks in Python and bash`, "nothing was run");
}

function cellOf(text: string, span: JsonSpan, number: number): NotebookCell {
  const members = jsonMembers(text, span);
  if (!members) throw new JsonProblem(span.start, `cell ${number} must be an object`);
  refuseDuplicates(members, `cell ${number}`);
  const type = member(members, "cell_type");
  const typeName = type && parsedAt(text, type.value);
  if (!cellTypes.includes(typeName)) {
    const problem = `the "cell_type" of cell ${number} must be "code", "markdown" or "raw"`;
    throw new JsonProblem((type?.value ?? span).start, problem);
  }
  const source = member(members, "source");
  if (!source) throw new JsonProblem(span.start, `cell ${number} has no "source"`);
  const lines = parsedAt(text, source.value);
  const isLines = Array.isArray(lines) && lines.every((line) => typeof line === "string");
  if (!isLines && typeof lines !== "string") {
    throw new JsonProblem(source.value.start, `the "source" of cell ${number} must be a string or a list of strings`);
  }
  const { outputs } = Object.fromEntries(members.map((one) => [one.name, one]));
  if (typeName === "code" && outputs && text[outputs.value.start] !== "[") {
    throw new JsonProblem(outputs.value.start, `the "outputs" of cell ${number} must be a list`);
  }
  return {
    ...{ number, span, members },
    type: typeName as NotebookCell["type"],
    source: isLines ? lines.join("") : lines,
    tags: tagsOf(text, members, number),
  };
}

function tagsOf(text: string, members: readonly JsonMember[], number: number): string[] {
  const metadata = member(members, "metadata");
  if (!metadata) return [];
  const value = parsedAt(text, metadata.value);
  if (!isObject(value)) {
    throw new JsonProblem(metadata.value.start, `the "metadata" of cell ${number} must be an object`);
  }
  const { tags = [] } = value;
  if (Array.isArray(tags) && tags.every((tag) => typeof tag === "string")) return tags;
  throw new JsonProblem(metadata.value.start, `the "tags" of cell ${number} must be a list of strings`);
}

/** The attack: readers that take the first of two members see other code than readers that take the last. */
function refuseDuplicates(members: readonly JsonMember[], where: string): void {
  const seen = new Set<string>();
  for (const { name, start } of members) {
    if (seen.has(name)) throw new JsonProblem(start, `${where} has ${JSON.stringify(printable(name))} twice`);
    seen.add(name);
  }
}

function member(members: readonly JsonMember[], name: string): JsonMember | undefined {
  return members.find((one) => one.name === name);
}

function parsedAt(text: string, { start, end }: JsonSpan): unknown {
  return JSON.parse(text.slice(start, end));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `LINE:COLUMN`, from 1. */
function placeOf(text: string, at: number): string {
  const before = text.slice(0, at);
  return `${before.split("\n").length}:${at - before.lastIndexOf("\n")}`;
}
