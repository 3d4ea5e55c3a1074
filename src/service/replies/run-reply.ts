import type { RunResult } from "../../sessions/runs/run.ts";
import { renderShaped, shapeResult } from "../output/shape-output.ts";
import type { StillRunning } from "../runs/run-registry.ts";
import type { DownloadUrl, Sandbox } from "../sandbox.ts";
import type { ToolReply } from "../tools/tool.ts";
import { encodeToolRun, encodeToolRunning, type ToolRun } from "../wire/tool-run.ts";
import { artifactLink, artifactUri } from "./artifact-uri.ts";
import { imageContent } from "./image-content.ts";

/** Well below the size at which clients write a result to a file instead. */
const budget = { characters: 16_000 };
const maxNotes = 20;
const maxArtifacts = 25;

export interface RunIdentity {
  readonly runId: string;
  readonly sessionId: string;
  readonly runner: string;
  /** in addition to the notes of the run */
  readonly notes: readonly string[];
}

/** An ended run, as a model sees it. */
export function endedReply(
  result: RunResult,
  identity: RunIdentity,
  sandbox: Sandbox,
  downloadUrl?: DownloadUrl,
): ToolReply<ToolRun> {
  const { runId, sessionId } = identity;
  const images = imageContent(result.displays);
  const leftOut = result.leftOut.map(({ name, message }) => `${name} is not an artifact: ${message}`);
  const artifacts = result.artifacts.slice(0, maxArtifacts);
  const unlisted = result.artifacts.length - artifacts.length;
  const more = unlisted > 0 ? [`${unlisted} more files were written; list_artifacts lists them`] : [];
  const notes = [...identity.notes, ...result.notes, ...images.notes, ...more, ...leftOut].slice(0, maxNotes);
  const shortened = { ...result, notes, artifacts };
  const whole = shapeResult(shortened, budget);
  const shaped = whole.isCut ? shapeResult(shortened, budget, sandbox.handleFor(result)) : whole;
  const reference = { runId, sessionId, downloadUrl, artifactUri: (name: string) => artifactUri(sessionId, name) };
  const facts = encodeToolRun(shortened, shaped, images.blocks.length, reference);
  const links = artifacts.map((artifact) => artifactLink(sessionId, artifact));
  const text = `${renderShaped(shaped).trimEnd()}\n${footer(facts)}`;
  return { facts, text, more: [...images.blocks, ...links] };
}

/** A run that is still running, with its output so far. */
export function runningReply(running: StillRunning, identity: RunIdentity): ToolReply<ToolRun> {
  const notes = [...identity.notes, "it is still running: get_run waits for it, cancel_run stops it"];
  const facts = encodeToolRunning(running, { ...identity, notes });
  const lines = [
    `status: running · ${facts.duration_ms} ms`,
    ...notes,
    renderShaped(running.outputSoFar).trimEnd(),
    footer(facts),
  ];
  return { facts, text: lines.filter((line) => line !== "").join("\n") };
}

function footer(facts: ToolRun): string {
  const files = facts.artifacts.map(
    ({ name, mime_type, size, uri, download_url }) =>
      `${name} (${mime_type}, ${size} bytes) ${uri}${download_url === undefined ? "" : ` ${download_url}`}`,
  );
  return [
    ...(files.length > 0 ? ["[artifacts]", ...files] : []),
    `session_id: ${facts.session_id} · run_id: ${facts.run_id} · runner: ${facts.runner}`,
  ].join("\n");
}
