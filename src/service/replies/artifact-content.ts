import { mimeHeadBytes, mimeTypeOf } from "../../artifacts/mime.ts";
import type { WorkspaceFiles } from "../../artifacts/workspace-files.ts";
import { CodecellError } from "../../lib/errors.ts";
import { imageLimits } from "./image-content.ts";
import { pngProblem } from "./sound-image.ts";

/** How much text a model gets per call. */
const maxPageBytes = 48 * 1024;
/** How many bytes clients accept in one reply. */
export const maxBinaryBytes = 512 * 1024;

/** A part of a file in the form that suits a model best. `end` is exclusive. */
export interface ArtifactContent {
  readonly mimeType: string;
  readonly size: number;
  readonly start: number;
  readonly end: number;
  readonly body:
    | { readonly as: "text"; readonly text: string }
    | { readonly as: "image" | "base64"; readonly data: Uint8Array };
}

interface ByteRange {
  readonly start?: number | undefined;
  /** exclusive */
  readonly end?: number | undefined;
}

export async function artifactContent(
  files: WorkspaceFiles,
  name: string,
  range: ByteRange = {},
  maxTextBytes = maxPageBytes,
): Promise<ArtifactContent> {
  await using file = await files.open(name);
  const { size } = file;
  checkRange(name, size, range);
  const head = new Uint8Array(Math.min(size, mimeHeadBytes));
  await file.readInto(head, 0);
  const mimeType = mimeTypeOf(name, head);
  const start = range.start ?? 0;
  const wanted = Math.min(range.end ?? size, size);
  // Read once, so that the audit records exactly what is returned.
  const read = (maxBytes: number) => file.read({ start, end: Math.min(wanted, start + maxBytes), maxBytes });
  if (isText(mimeType, head)) {
    const whole = await read(maxTextBytes);
    const data = start + whole.byteLength < size ? whole.subarray(0, lastWholeCharacter(whole)) : whole;
    const text = new TextDecoder().decode(data);
    return { mimeType, size, start, end: start + data.byteLength, body: { as: "text", text } };
  }
  const isWhole = range.start === undefined && range.end === undefined;
  const mayBeImage = mimeType === "image/png" && isWhole && size <= imageLimits.bytes;
  if (!mayBeImage && wanted - start > maxBinaryBytes) throw tooLarge(name, size, mimeType);
  const data = await read(mayBeImage ? imageLimits.bytes : maxBinaryBytes);
  if (mayBeImage && pngProblem(data) === undefined)
    return { mimeType, size, start, end: size, body: { as: "image", data } };
  if (data.byteLength > maxBinaryBytes) throw tooLarge(name, size, mimeType);
  return { mimeType, size, start, end: start + data.byteLength, body: { as: "base64", data } };
}

/** An empty part would look like a success, and a model that continues after it would not get any further. */
function checkRange(name: string, size: number, { start = 0, end = Number.POSITIVE_INFINITY }: ByteRange): void {
  if (start <= size && end > start) return;
  const problem = start > size ? "start is beyond the end of the file" : "end must be more than start";
  throw new CodecellError("usage", `${problem}: ${name} has ${size} bytes`);
}

function tooLarge(name: string, size: number, mimeType: string): CodecellError {
  return new CodecellError(
    "too_large",
    `${name} (${mimeType}) has ${size} bytes; one call returns at most ${maxBinaryBytes}`,
    {
      hint: "pass start and end, or shrink it with code in the session",
    },
  );
}

function isText(mimeType: string, head: Uint8Array): boolean {
  if (/^text\/|[/+](?:json|jsonl|xml)$/.test(mimeType.split(";")[0] ?? "")) return true;
  if (mimeType !== "application/octet-stream") return false;
  try {
    return !new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true }).includes("\0");
  } catch {
    return false;
  }
}

/** The end of the last complete UTF-8 character: a page must not split one. */
function lastWholeCharacter(data: Uint8Array): number {
  for (let back = 1; back <= Math.min(4, data.length); back++) {
    const byte = data[data.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue; // inside a character
    const length = byte < 0x80 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > back ? data.length - back : data.length;
  }
  return data.length;
}
