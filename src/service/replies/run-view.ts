import { quotedName } from "../../lib/quoted-name.ts";
import { variablesAsAfter } from "../../lib/variables-as-after.ts";
import type { RunResult } from "../../sessions/runs/run.ts";
import { type ShapedResult, shapeResult } from "../output/shape-output.ts";
import type { ToolContent } from "../tools/tool.ts";
import { encodeArtifact } from "../wire/artifact.ts";
import { foldTraceback } from "./fold-traceback.ts";
import { imageContent } from "./image-content.ts";
import { type RunSurroundings, runRemedies } from "./run-remedies.ts";
import { endedText } from "./run-text.ts";

/** Well below the size at which clients write a result to a file instead. */
const budget = { characters: 16_000 };
/** What does not fit is read in another way, so its beginning and end are enough. */
const cutBudget = { characters: 7_500 };
const maxNotes = 20;
const maxArtifacts = 25;

/** An ended run with as many notes and artifacts as a model can use, and its images. */
export interface RunView {
  readonly shortened: RunResult;
  readonly images: readonly ToolContent[];
}

/** Pure: what of a result a model is shown. `otherFiles` says how to list the files that are left out. */
export function viewRun(result: RunResult, ownNotes: readonly string[], otherFiles: string): RunView {
  const images = imageContent(result.displays);
  const leftOut = result.leftOut.map(leftOutNote);
  const artifacts = result.artifacts.slice(0, maxArtifacts);
  const unlisted = result.artifacts.length - artifacts.length;
  const more = unlisted > 0 ? [`${unlisted} more files were written; ${otherFiles}`] : [];
  const found = result.notes.filter((note) => !isTold(note, result));
  const first = [...ownNotes, ...found, ...images.notes, ...more].slice(0, maxNotes);
  const notes = [...first, ...firstOf(leftOut, Math.max(1, maxNotes - first.length))];
  return { shortened: { ...result, notes, artifacts }, images: images.blocks };
}

/** Never hides that there are more. */
function firstOf(leftOut: readonly string[], room: number): readonly string[] {
  if (leftOut.length <= room) return leftOut;
  return [...leftOut.slice(0, room - 1), `${leftOut.length - room + 1} more changed files are not artifacts`];
}

/** The message may begin with the name, which the program chose. */
function leftOutNote({ name, message }: RunResult["leftOut"][number]): string {
  const why = message.startsWith(name) ? `it${message.slice(name.length)}` : message;
  return `${quotedName(name, 200)} is not an artifact: ${why}`;
}

/** Fits a result into the budget of a model. `handle` is asked for only if something does not fit. */
export function fitRun(result: RunResult, handle: () => string | undefined): ShapedResult {
  const whole = shapeResult(result, budget);
  return whole.isCut ? shapeResult(result, cutBudget, handle()) : whole;
}

/** A model reads its own frames faster without those of libraries. */
export function withShortTraceback(result: RunResult): RunResult {
  const { error } = result;
  return error ? { ...result, error: { ...error, traceback: foldTraceback(error.traceback) } } : result;
}

/** An ended run for a model that has one tool and no server behind it. */
export interface RunReport {
  /** the status first, then why it failed and what to do, then what it produced */
  readonly text: string;
  readonly images: readonly { readonly data: string; readonly mimeType: string }[];
}

const cutNote =
  "the output is too long to show in full: print less, or write it to a file and print parts of that in the next call";

/** Pure: an ended run as text and images, with why it failed and what to do. */
export function reportRun(result: RunResult, around: Omit<RunSurroundings, "isOnlyTool" | "otherSessions">): RunReport {
  return reportEnded(result, runRemedies(result, { ...around, isOnlyTool: true }));
}

/** Pure: an ended run as text and images. `notes` are in addition to those of the run. */
export function reportEnded(result: RunResult, notes: readonly string[]): RunReport {
  const view = (more: readonly string[]) => viewRun(result, [...notes, ...more], "list them in code");
  const shape = ({ shortened }: RunView) => fitRun(withShortTraceback(shortened), () => undefined);
  const whole = view([]);
  const shaped = shape(whole);
  const { shortened, images } = shaped.isCut || result.truncated ? view([cutNote]) : whole;
  const shown = shortened === whole.shortened ? shaped : shape({ shortened, images });
  const artifacts = shortened.artifacts.map((artifact) => encodeArtifact(artifact));
  return {
    text: endedText({ result, shaped: shown, artifacts, isContinued: false, session: "" }),
    images: images.flatMap((block) => (block.type === "image" ? [{ data: block.data, mimeType: block.mimeType }] : [])),
  };
}

/** What the status and the state of a result say already. */
function isTold(note: string, { status, state, recoveredTo }: RunResult): boolean {
  if (state === "recovered" && note === variablesAsAfter(recoveredTo ?? 0)) return true;
  return status === "out_of_memory" && note === "the interpreter was killed by signal 9";
}
