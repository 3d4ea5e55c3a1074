import type { DisplayEvent } from "../../sessions/runs/run.ts";
import type { ToolContent } from "../tools/tool.ts";
import { isSoundPng } from "./sound-image.ts";

export const imageLimits = { count: 4, bytes: 200 * 1024, totalBytes: 600 * 1024 } as const;

export interface ShownImages {
  readonly blocks: ToolContent[];
  /** one sentence per image that is not shown */
  readonly notes: string[];
}

/** The images that a run displayed, within the limits of clients. */
export function imageContent(displays: readonly DisplayEvent[]): ShownImages {
  const blocks: ToolContent[] = [];
  const notes: string[] = [];
  let totalBytes = 0;
  for (const [index, { data }] of displays.filter(({ mime }) => mime === "image/png").entries()) {
    const problem = problemOf(data, blocks.length, totalBytes);
    if (problem !== undefined) {
      notes.push(`image ${index + 1} is not shown: ${problem}`);
      continue;
    }
    totalBytes += data.byteLength;
    blocks.push({ type: "image", data: Buffer.from(data).toString("base64"), mimeType: "image/png" });
  }
  return { blocks, notes: notes.length > 6 ? [...notes.slice(0, 5), `and ${notes.length - 5} more`] : notes };
}

function problemOf(data: Uint8Array, shown: number, totalBytes: number): string | undefined {
  if (!isSoundPng(data)) return "it is not a valid PNG";
  if (shown >= imageLimits.count)
    return `a result shows at most ${imageLimits.count}; display the others in another run`;
  const isLarge = data.byteLength > imageLimits.bytes || totalBytes + data.byteLength > imageLimits.totalBytes;
  const size = `${Math.ceil(data.byteLength / 1024)} KiB`;
  return isLarge ? `it is too large (${size}); use a smaller figure or dpi, or save it to a file` : undefined;
}
