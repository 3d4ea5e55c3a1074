import type { RunResult } from "../../sessions/runs/run.ts";
import { renderShaped, shapeStreams } from "../output/shape-output.ts";
import type { StillRunning } from "../runs/run-registry.ts";
import type { PrintedText } from "../runs/seen-output.ts";
import type { DownloadUrl, Sandbox } from "../sandbox.ts";
import type { ToolReply } from "../tools/tool.ts";
import { encodeToolRun, encodeToolRunning, type ToolRun } from "../wire/runs/tool-run.ts";
import { artifactLink, artifactUri } from "./artifact-uri.ts";
import { endedText } from "./run-text.ts";
import { fitRun, reportEnded, viewRun, withShortTraceback } from "./run-view.ts";

const runningBudget = { characters: 4_000 };

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
  const { runId, sessionId, notes } = identity;
  const { shortened, images } = viewRun(result, notes, "list_artifacts lists them");
  const handle = () => sandbox.handleFor(result);
  const shaped = fitRun(shortened, handle);
  const reference = { runId, sessionId, downloadUrl, artifactUri: (name: string) => artifactUri(sessionId, name) };
  const facts = encodeToolRun(shortened, shaped, images.length, reference);
  const isContinued = news?.isContinued === true && !result.truncated;
  // Facts are for programs and keep the whole traceback.
  const forModel = { ...withShortTraceback(shortened), ...(isContinued ? printed(news) : {}) };
  const shown = isContinued || result.error ? fitRun(forModel, handle) : shaped;
  const session = sandbox.mention(sessionId);
  const text = sandbox.hasOnlyTool
    ? reportEnded(result, notes).text
    : endedText({ result, shaped: shown, artifacts: facts.artifacts, isContinued, session });
  return {
    facts,
    text,
    more: [...images, ...shortened.artifacts.map((artifact) => artifactLink(sessionId, artifact))],
  };
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
  const status = `status: running · ${facts.duration_ms} ms${news.isContinued ? " · output since the last look" : ""}`;
  const ending = `${status}${sandbox.mention(identity.sessionId)}`;
  const [first = "", ...output] = renderShaped({ ...shapeStreams(printed(news), runningBudget), ending }).split("\n");
  const lines = [first, ...identity.notes, output.join("\n").trimEnd(), `run_id: ${facts.run_id}; ${next}`];
  return { facts, text: lines.filter((line) => line !== "").join("\n") };
}

function printed({ stdout, stderr }: PrintedText): PrintedText {
  return { stdout, stderr };
}
