import type { RunError, RunEvent, RunStatus } from "../../sessions/runs/run.ts";
import { checkEnd, JsonProblem, scanJson } from "./json-scanner.ts";

/** Forms of one value by their type: text as lines, JSON as it is, other bytes in base64. */
export type MimeBundle = Readonly<Record<string, unknown>>;

/** An output of a code cell, as the format 4 writes it. */
export type NotebookOutput =
  | { readonly output_type: "stream"; readonly name: "stdout" | "stderr"; readonly text: readonly string[] }
  | { readonly output_type: "display_data"; readonly data: MimeBundle; readonly metadata: object }
  | {
      readonly output_type: "execute_result";
      readonly execution_count: number;
      readonly data: MimeBundle;
      readonly metadata: object;
    }
  | {
      readonly output_type: "error";
      readonly ename: string;
      readonly evalue: string;
      readonly traceback: readonly string[];
    };

/** How the run of a cell ended. */
export interface CellEnding {
  readonly executionCount: number;
  readonly status: string;
  readonly value?: string | undefined;
  readonly error?: RunError | undefined;
  /** why it ended, for an ending without an exception */
  readonly reason?: string | undefined;
}

/** What a run printed and displayed, in order. */
export type OutputEvent =
  | Extract<RunEvent, { readonly text: string }>
  | Pick<Extract<RunEvent, { readonly mime: string }>, "type" | "display" | "mime" | "data">;

const endingNames: Readonly<Partial<Record<string, string>>> = {
  error: "CalledProcessError", // of bash: Python has an exception
  timeout: "TimeoutError",
  interrupted: "KeyboardInterrupt",
  cancelled: "KeyboardInterrupt",
  out_of_memory: "MemoryError",
  output_limit: "OutputLimitError",
  crashed: "DeadKernelError",
} satisfies Partial<Record<RunStatus, string>>;

/** The outputs of a code cell, from what its run printed, displayed and returned. Everything in them is untrusted. */
export function notebookOutputs(events: Iterable<OutputEvent>, ending: CellEnding): NotebookOutput[] {
  const parts = gathered(events);
  const { value, executionCount } = ending;
  const last = parts.at(-1);
  // The value of the last expression comes as a display too, if it has more than text.
  const isShown = value !== undefined && last?.type === "display" && plainText(last) === value;
  const outputs = parts.map((part, index): NotebookOutput => {
    if (part.type !== "display") return streamOutput(part.type, part.text);
    const data = mimeBundle(part.forms);
    return isShown && index === parts.length - 1
      ? { output_type: "execute_result", execution_count: executionCount, data, metadata: {} }
      : { output_type: "display_data", data, metadata: {} };
  });
  if (value !== undefined && !isShown) {
    const data = { "text/plain": lines(value) };
    outputs.push({ output_type: "execute_result", execution_count: executionCount, data, metadata: {} });
  }
  const error = errorOf(ending);
  return error ? [...outputs, error] : outputs;
}

export function streamOutput(name: "stdout" | "stderr", text: string): NotebookOutput {
  return { output_type: "stream", name, text: lines(text) };
}

/** Text as the format writes it: a list of lines, each with its line break. */
export function lines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? [];
}

function errorOf({ error, status, reason }: CellEnding): NotebookOutput | undefined {
  if (error) {
    const traceback = error.traceback.trimEnd().split("\n");
    return { output_type: "error", ename: error.name, evalue: error.message, traceback };
  }
  const ename = endingNames[status];
  if (ename === undefined) return undefined;
  const evalue = reason ?? status;
  return { output_type: "error", ename, evalue, traceback: [`${ename}: ${evalue}`] };
}

interface Form {
  readonly mime: string;
  readonly data: Uint8Array;
}
type Part = { type: "stdout" | "stderr"; text: string } | { type: "display"; display: number; forms: Form[] };

/** Joins pieces of one stream, and the forms of one value. */
function gathered(events: Iterable<OutputEvent>): Part[] {
  const parts: Part[] = [];
  for (const event of events) {
    const last = parts.at(-1);
    if (event.type === "display") {
      if (last?.type === "display" && last.display === event.display) last.forms.push(event);
      else parts.push({ type: "display", display: event.display, forms: [event] });
    } else if (last?.type === event.type) last.text += event.text;
    else parts.push({ type: event.type, text: event.text });
  }
  return parts;
}

function plainText({ forms }: { readonly forms: readonly Form[] }): string | undefined {
  const form = forms.find(({ mime }) => mime === "text/plain");
  return form && new TextDecoder().decode(form.data);
}

/** Type and subtype without parameters: a form with parameters is codecell's own. */
const plainMime = /^[a-zA-Z0-9]+\/[a-zA-Z0-9][a-zA-Z0-9.+-]*$/;
const binaryMime = /^(?:image|audio|video|font)\/(?!svg\+xml$)|^application\/(?:pdf|zip|gzip|octet-stream)$/;
const jsonMime = /^application\/json$|^application\/.*\+json$/;

function mimeBundle(forms: readonly Form[]): MimeBundle {
  const bundle: [string, unknown][] = [];
  for (const { mime, data } of forms) {
    if (!plainMime.test(mime)) continue;
    const value = jsonMime.test(mime) ? jsonValue(data) : textValue(mime, data);
    if (value !== undefined) bundle.push([mime, value]);
  }
  return Object.fromEntries(bundle);
}

function textValue(mime: string, data: Uint8Array): string | string[] {
  const base64 = () => Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
  if (binaryMime.test(mime)) return base64();
  try {
    return lines(new TextDecoder("utf-8", { fatal: true }).decode(data));
  } catch {
    return base64();
  }
}

/** Undefined: it is no JSON, or too deep to be written again. */
function jsonValue(data: Uint8Array): unknown {
  const text = new TextDecoder().decode(data);
  try {
    checkEnd(text, scanJson(text));
  } catch (error) {
    if (error instanceof JsonProblem) return undefined;
    throw error;
  }
  return JSON.parse(text);
}
