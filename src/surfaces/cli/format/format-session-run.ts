import { printable } from "../../../policy/file/problem.ts";
import type { WireRun } from "../../../service/wire/runs/run.ts";
import { encodeSnapshot } from "../../../service/wire/sessions/snapshot.ts";
import type { RunResult } from "../../../sessions/runs/run.ts";
import type { Kept } from "../sessions/keep-session.ts";
import { missingText } from "./format-snapshot.ts";
import { formatBytes } from "./text/format-bytes.ts";

const maxArtifacts = 20;

/** Remarks after a run in a session: the files it wrote, and what could not be saved. */
export function sessionRemarks(
  id: string,
  result: Pick<RunResult, "artifacts" | "leftOut" | "runner">,
  kept: Kept,
  /** `hasFiles`: the session's files outlive this call */
  { hasFiles }: { readonly hasFiles: boolean },
): string[] {
  const { artifacts, leftOut } = result;
  const files = artifacts.slice(0, maxArtifacts).map(({ name, size }) => {
    return `wrote ${printable(name, 200)} (${formatBytes(size)})`;
  });
  const more = artifacts.length - files.length;
  if (more > 0) files.push(`… and ${more} more files; \`codecell artifacts ls ${id}\` lists them`);
  if (artifacts.length > 0 && !hasFiles && !kept.saved?.files)
    files.push(`the ${result.runner} runner does not keep these files after this call`);
  const refused = leftOut
    .slice(0, maxArtifacts)
    .map(({ name, message }) => `not an artifact: ${printable(name)}: ${message}`);
  if (leftOut.length > refused.length)
    refused.push(`… and ${leftOut.length - refused.length} more that are not artifacts`);
  const skipped = [...(kept.saved?.skipped ?? []), ...(kept.saved?.files?.skipped ?? [])];
  return [
    ...files,
    ...refused,
    ...(skipped.length > 0 ? [`not saved: ${missingText(skipped)}`] : []),
    ...(kept.problem === undefined ? [] : [kept.problem]),
  ];
}

/** The field `save` of `run --session --json`. */
export function saveJson(id: string, kept: Kept): NonNullable<WireRun["save"]> {
  return { snapshot: kept.saved ? encodeSnapshot(id, kept.saved) : null, problem: kept.problem ?? null };
}
