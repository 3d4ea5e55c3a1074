import type { DownloadUrl } from "../../../service/wire/artifact.ts";
import { encodeRun, type WireRun } from "../../../service/wire/run.ts";
import type { RunResult } from "../../../sessions/runs/run.ts";
import type { Plots } from "../plots/plots.ts";

/** A result as `run --json` prints it, with the files that its displays were saved to. */
export async function runJson(
  result: RunResult,
  sessionId: string | null,
  plots: Plots,
  downloadUrl?: DownloadUrl,
): Promise<WireRun> {
  const wire = encodeRun(result, { runId: null, sessionId, nextOffset: null }, { downloadUrl, withReceipt: true });
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
