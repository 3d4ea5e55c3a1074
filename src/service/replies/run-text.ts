import type { RunResult } from "../../sessions/runs/run.ts";
import { renderShaped, type ShapedResult } from "../output/shape-output.ts";
import { stateLeft } from "../output/state-left.ts";
import type { WireArtifact } from "../wire/artifact.ts";
import { shownName } from "./artifact-uri.ts";

export interface RunTextParts {
  readonly result: RunResult;
  readonly shaped: ShapedResult;
  readonly artifacts: readonly WireArtifact[];
  /** whether the output goes on from an earlier look */
  readonly isContinued: boolean;
  /** ` · session_id: …`, or nothing */
  readonly session: string;
}

/** An ended run in few words: its first line is ours, and nothing is said that is empty. */
export function endedText({ result, shaped, artifacts, isContinued, session }: RunTextParts): string {
  const files = artifacts.map(
    ({ name, mime_type, size, download_url }) =>
      `${shownName(name)} (${mime_type.split(";")[0]}, ${size} bytes)${download_url === undefined ? "" : ` ${download_url}`}`,
  );
  const text = renderShaped({ ...shaped, ending: `${endingOf(result, isContinued)}${session}` });
  return [text.trimEnd(), ...(files.length > 0 ? ["[artifacts]", ...files] : [])].join("\n");
}

function endingOf(result: RunResult, isContinued: boolean): string {
  const { status, error, exitCode, durationMs, stoppedAtLine } = result;
  return [
    `status: ${status}`,
    ...(exitCode && !error ? [`exit code ${exitCode}`] : []),
    `${Math.round(durationMs)} ms`,
    ...(stoppedAtLine === undefined || status === "ok" ? [] : [`stopped at line ${stoppedAtLine}`]),
    ...stateLeft(result),
    ...(isContinued ? ["output since the last look"] : []),
  ].join(" · ");
}
