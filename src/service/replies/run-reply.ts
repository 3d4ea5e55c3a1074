import type { RunResult } from "../../sessions/runs/run.ts";
import { readableText } from "../output/readable-text.ts";
import { type SectionName, type ShapedText, shapeResult } from "../output/shape-output.ts";
import type { StillRunning } from "../runs/run-registry.ts";
import type { DownloadUrl, Sandbox } from "../sandbox.ts";
import type { ToolReply } from "../tools/tool.ts";
import { artifactLink, artifactUri } from "./artifact-uri.ts";
import { imageContent } from "./image-content.ts";
import type { RunFacts } from "./run-facts.ts";

/** Well under what clients take before they put a result into a file. */
const budget = { characters: 16_000 };
const maxNotes = 20;
const maxArtifacts = 25;

export interface RunIdentity {
  readonly runId: string;
  readonly sessionId: string;
  readonly runner: string;
  /** said besides what the run itself has to say */
  readonly notes: readonly string[];
}

/** An ended run, as a model sees it. */
export function endedReply(
  result: RunResult,
  identity: RunIdentity,
  sandbox: Sandbox,
  downloadUrl?: DownloadUrl,
): ToolReply<RunFacts> {
  const { sessionId } = identity;
  const images = imageContent(result.displays);
  const leftOut = result.leftOut.map(({ name, message }) => `${name} is no artifact: ${message}`);
  const artifacts = result.artifacts.slice(0, maxArtifacts);
  const unnamed = result.artifacts.length - artifacts.length;
  const more = unnamed > 0 ? [`${unnamed} more files were made; list_artifacts lists them`] : [];
  const notes = [...identity.notes, ...result.notes, ...images.notes, ...more, ...leftOut].slice(0, maxNotes);
  const noted = { ...result, notes };
  const whole = shapeResult(noted, budget);
  const handle = whole.isCut ? sandbox.handleFor(result) : undefined;
  const shaped = handle === undefined ? whole : shapeResult(noted, budget, handle);
  const facts: RunFacts = {
    status: result.status,
    error: result.error ? errorFacts(result.error.name, shaped) : null,
    result: result.value === undefined ? null : sectionText(shaped, "result"),
    stdout: sectionText(shaped, "stdout"),
    stderr: sectionText(shaped, "stderr"),
    truncated: shaped.isCut || result.truncated,
    output_handle: handle ?? null,
    artifacts: artifacts.map(({ name, mimeType, size, sha256 }) => ({
      ...{ uri: artifactUri(sessionId, name), name, mime_type: mimeType, size, sha256 },
      ...(downloadUrl ? { download_url: downloadUrl({ name, sha256 }) } : {}),
    })),
    images: images.blocks.length,
    notes,
    state: result.state,
    session_id: sessionId,
    run_id: identity.runId,
    duration_ms: Math.round(result.durationMs),
    runner: result.runner,
  };
  const links = artifacts.map((artifact) => artifactLink(sessionId, artifact));
  return { facts, text: `${shaped.text.trimEnd()}\n${footer(facts)}`, more: [...images.blocks, ...links] };
}

/** A run that still goes on, with its output so far. */
export function runningReply(running: StillRunning, identity: RunIdentity): ToolReply<RunFacts> {
  const { outputSoFar, elapsedMs } = running;
  const facts: RunFacts = {
    status: "running",
    error: null,
    result: null,
    stdout: sectionText(outputSoFar, "stdout"),
    stderr: sectionText(outputSoFar, "stderr"),
    truncated: outputSoFar.isCut,
    output_handle: null,
    artifacts: [],
    images: 0,
    notes: [...identity.notes, "it still runs: get_run waits for it, cancel_run stops it"],
    state: null,
    session_id: identity.sessionId,
    run_id: identity.runId,
    duration_ms: Math.round(elapsedMs),
    runner: identity.runner,
  };
  const lines = [
    `status: running · ${facts.duration_ms} ms`,
    ...facts.notes,
    outputSoFar.text.trimEnd(),
    footer(facts),
  ];
  return { facts, text: lines.filter((line) => line !== "").join("\n") };
}

/** The text of a section without its label, cut as the whole is. */
function sectionText(shaped: ShapedText, name: SectionName): string {
  const text = shaped.sections.find((section) => section.name === name)?.text ?? "";
  const label = `[${name}]\n`;
  return text.startsWith(label) ? text.slice(label.length) : text;
}

function errorFacts(name: string, shaped: ShapedText): NonNullable<RunFacts["error"]> {
  const type = readableText(name).slice(0, 200);
  const headline = sectionText(shaped, "error");
  const message = headline.startsWith(`${type}: `) ? headline.slice(type.length + 2) : headline;
  return { type, message, traceback: sectionText(shaped, "traceback") };
}

function footer(facts: RunFacts): string {
  const files = facts.artifacts.map(
    ({ name, mime_type, size, uri, download_url }) =>
      `${name} (${mime_type}, ${size} bytes) ${uri}${download_url === undefined ? "" : ` ${download_url}`}`,
  );
  return [
    ...(files.length > 0 ? ["[artifacts]", ...files] : []),
    `session_id: ${facts.session_id} · run_id: ${facts.run_id} · runner: ${facts.runner}`,
  ].join("\n");
}
