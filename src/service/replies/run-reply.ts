import { variablesAsAfter } from "../../lib/variables-as-after.ts";
import type { RunResult } from "../../sessions/runs/run.ts";
import { renderShaped, shapeResult, shapeStreams } from "../output/shape-output.ts";
import type { StillRunning } from "../runs/run-registry.ts";
import type { PrintedText } from "../runs/seen-output.ts";
import type { DownloadUrl, Sandbox } from "../sandbox.ts";
import type { ToolReply } from "../tools/tool.ts";
import { encodeToolRun, encodeToolRunning, type ToolRun } from "../wire/tool-run.ts";
import { artifactLink, artifactUri } from "./artifact-uri.ts";
import { foldTraceback } from "./fold-traceback.ts";
import { imageContent } from "./image-content.ts";
import { endedText } from "./run-text.ts";

/** Well below the size at which clients write a result to a file instead. */
const budget = { characters: 16_000 };
/** What does not fit is read by its handle, so its beginning and end are enough. */
const cutBudget = { characters: 7_500 };
const runningBudget = { characters: 4_000 };
const maxNotes = 20;
const maxArtifacts = 25;

export interface RunIdentity {
  readonly runId: string;
  readonly sessionId: string;
  readonly runner: string;
  /** in addition to the notes of the run */
  readonly notes: readonly string[];
}

/** What a run printed since its caller last looked. */
export type NewOutput = PrintedText & { readonly isContinued: boolean };

export interface EndedReplyOptions {
  readonly downloadUrl?: DownloadUrl | undefined;
  /** absent: nothing of it was shown before */
  readonly news?: NewOutput;
}

/** An ended run, as a model sees it. */
export function endedReply(
  result: RunResult,
  identity: RunIdentity,
  sandbox: Sandbox,
  { downloadUrl, news }: EndedReplyOptions = {},
): ToolReply<ToolRun> {
  const { runId, sessionId } = identity;
  const images = imageContent(result.displays);
  const leftOut = result.leftOut.map(({ name, message }) => `${name} is not an artifact: ${message}`);
  const artifacts = result.artifacts.slice(0, maxArtifacts);
  const unlisted = result.artifacts.length - artifacts.length;
  const more = unlisted > 0 ? [`${unlisted} more files were written; list_artifacts lists them`] : [];
  const found = result.notes.filter((note) => !isTold(note, result));
  const notes = [...identity.notes, ...found, ...images.notes, ...more, ...leftOut].slice(0, maxNotes);
  const shortened = { ...result, notes, artifacts };
  const shaped = fitted(shortened, () => sandbox.handleFor(result));
  const reference = { runId, sessionId, downloadUrl, artifactUri: (name: string) => artifactUri(sessionId, name) };
  const facts = encodeToolRun(shortened, shaped, images.blocks.length, reference);
  const isContinued = news?.isContinued === true && !result.truncated;
  // Facts are for programs and keep the whole traceback; a model reads its own frames faster without those of libraries.
  const error = result.error && { ...result.error, traceback: foldTraceback(result.error.traceback) };
  const forModel = { ...shortened, error, ...(isContinued ? printed(news) : {}) };
  const shown = isContinued || error ? fitted(forModel, () => sandbox.handleFor(result)) : shaped;
  const session = sandbox.mention(sessionId);
  const text = endedText({ result, shaped: shown, artifacts: facts.artifacts, isContinued, session });
  return { facts, text, more: [...images.blocks, ...artifacts.map((artifact) => artifactLink(sessionId, artifact))] };
}

/** A run that is still running, with its output so far as facts and what is new of it as text. */
export function runningReply(
  running: StillRunning,
  identity: RunIdentity,
  sandbox: Sandbox,
  news: NewOutput,
): ToolReply<ToolRun> {
  const next = "get_run waits for it, and stops it with cancel=true";
  const facts = encodeToolRunning(running, { ...identity, notes: [...identity.notes, `it is still running: ${next}`] });
  const lines = [
    `status: running · ${facts.duration_ms} ms${news.isContinued ? " · output since the last look" : ""}${sandbox.mention(identity.sessionId)}`,
    ...identity.notes,
    renderShaped(shapeStreams(printed(news), runningBudget)).trimEnd(),
    `run_id: ${facts.run_id}; ${next}`,
  ];
  return { facts, text: lines.filter((line) => line !== "").join("\n") };
}

function fitted(result: RunResult, handle: () => string | undefined) {
  const whole = shapeResult(result, budget);
  return whole.isCut ? shapeResult(result, cutBudget, handle()) : whole;
}

function printed({ stdout, stderr }: PrintedText): PrintedText {
  return { stdout, stderr };
}

/** What the status and the state of a result say already. */
function isTold(note: string, { status, state, recoveredTo }: RunResult): boolean {
  if (state === "recovered" && note === variablesAsAfter(recoveredTo ?? 0)) return true;
  return status === "out_of_memory" && note === "the interpreter was killed by signal 9";
}
