import type { DisplayEvent } from "../../sessions/runs/run.ts";
import type { ToolContent } from "../tools/tool.ts";
import { maxPixelBytes, pixelBytesOf, pngProblem, pngSize } from "./sound-image.ts";

export const imageLimits = { count: 4, bytes: 200 * 1024, totalBytes: 600 * 1024 } as const;

/** The kernel adds this form to a PNG over `imageLimits.bytes`: the same picture with fewer pixels. */
export const previewMime = "image/png;preview=true";

export interface ShownImages {
  readonly blocks: ToolContent[];
  /** one sentence per image that is not shown, or not in full */
  readonly notes: string[];
}

/** The images that a run displayed, within the limits of clients. */
export function imageContent(displays: readonly DisplayEvent[]): ShownImages {
  const blocks: ToolContent[] = [];
  const notes: string[] = [];
  let totalBytes = 0;
  // All images of a result together: checking them takes time, and there may be thousands.
  let pixelBytes = 2 * maxPixelBytes;
  for (const [index, image] of displays.filter(({ mime }) => mime === "image/png").entries()) {
    const data = smallerForm(image, displays) ?? image.data;
    let problem = problemOf(data, blocks.length, totalBytes);
    if (problem === undefined) {
      problem = pngProblem(data, Math.min(maxPixelBytes, pixelBytes));
      pixelBytes -= pixelBytesOf(data);
    }
    if (problem !== undefined) {
      notes.push(`image ${index + 1} is not shown: ${problem}`);
      continue;
    }
    if (data !== image.data) notes.push(`image ${index + 1} is shown with ${scaleText(data, image.data)}`);
    totalBytes += data.byteLength;
    blocks.push({ type: "image", data: Buffer.from(data).toString("base64"), mimeType: "image/png" });
  }
  return { blocks, notes: notes.length > 6 ? [...notes.slice(0, 5), `and ${notes.length - 5} more`] : notes };
}

/** What to show of an image that is too large; undefined: all of it, or the cell could not make it smaller. */
function smallerForm({ display, data }: DisplayEvent, displays: readonly DisplayEvent[]): Uint8Array | undefined {
  if (data.byteLength <= imageLimits.bytes) return undefined;
  return displays.find((one) => one.display === display && one.mime === previewMime)?.data;
}

function scaleText(shown: Uint8Array, whole: Uint8Array): string {
  const [pixels, all] = [pngSize(shown), pngSize(whole)].map(({ width, height }) => `${width}x${height}`);
  return `${pixels} of its ${all} pixels, because it has ${sizeText(whole)}; save it to a file to keep all of it`;
}

function problemOf(data: Uint8Array, shown: number, totalBytes: number): string | undefined {
  if (shown >= imageLimits.count)
    return `a result shows at most ${imageLimits.count}; display the others in another run`;
  const isLarge = data.byteLength > imageLimits.bytes || totalBytes + data.byteLength > imageLimits.totalBytes;
  return isLarge ? `it is too large (${sizeText(data)}); use a smaller figure or dpi, or save it to a file` : undefined;
}

function sizeText({ byteLength }: Uint8Array): string {
  return `${Math.ceil(byteLength / 1024)} KiB`;
}
