import type { DownloadUrl } from "../../../service/wire/artifact.ts";
import { encodeRun, type WireRun } from "../../../service/wire/runs/run.ts";
import type { RunResult } from "../../../sessions/runs/run.ts";
import type { Plots } from "../plots/plots.ts";

/** What `run --json` adds to a result. */
export interface RunJsonParts {
  /** of the session; null: a fresh cell */
  readonly id: string | null;
  readonly plots: Plots;
  /** another note */
  readonly hint?: string | undefined;
  readonly downloadUrl?: DownloadUrl | undefined;
}

/** A result as `run --json` prints it, with the files that its displays were saved to. */
export async function runJson(result: RunResult, { id, plots, hint, downloadUrl }: RunJsonParts): Promise<WireRun> {
  const reference = { runId: null, sessionId: id, nextOffset: null };
  const encoded = encodeRun(result, reference, { downloadUrl, withReceipt: true });
  const wire = { ...encoded, notes: [...encoded.notes, ...(hint === undefined ? [] : [hint])] };
  if (result.displays.length === 0) return wire;
  const saved = await plots.ofRun();
  const paths: (string | null)[] = [];
  const notes: string[] = [];
  for (const event of result.displays) {
    const { path, line } = await saved.add(event);
    paths.push(path ?? null);
    if (path === undefined && line !== undefined) notes.push(line);
  }
  return {
    ...wire,
    displays: wire.displays.map((display, index) => ({ ...display, path: paths[index] ?? null })),
    notes: [...wire.notes, ...notes, ...saved.end()],
  };
}
