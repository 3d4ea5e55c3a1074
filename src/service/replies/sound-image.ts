import { crc32, inflateSync } from "node:zlib";

const signature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
const longestSide = 8_000;
/** Decoding more than this takes too long for one image. */
export const maxPixelBytes = 32 * 1024 * 1024;
const invalid = "it is not a valid PNG";

/** Samples per pixel and bits per sample of each kind of pixel. */
const kinds: Readonly<Record<number, { readonly samples: number; readonly depths: readonly number[] }>> = {
  0: { samples: 1, depths: [1, 2, 4, 8, 16] },
  2: { samples: 3, depths: [8, 16] },
  3: { samples: 1, depths: [1, 2, 4, 8] },
  4: { samples: 2, depths: [8, 16] },
  6: { samples: 4, depths: [8, 16] },
};

/** The seven passes of an interlaced image: first column and row, and the steps between them. */
export const interlacedPasses = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

interface Header {
  readonly width: number;
  readonly height: number;
  readonly bitsPerPixel: number;
  readonly hasPalette: boolean;
  readonly isInterlaced: boolean;
}

/**
 * Why bytes from a cell must not be sent as a PNG; undefined if a decoder will accept them. With some clients, a damaged image in a
 * conversation makes every later request fail. So everything is checked: structure, checksums, and that the pixels are complete.
 */
export function pngProblem(data: Uint8Array, mostPixelBytes = maxPixelBytes): string | undefined {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const chunks = chunksOf(bytes);
  const header = chunks?.[0]?.type === "IHDR" ? headerOf(chunks[0].body) : undefined;
  if (!chunks || !header || !isOrderly(chunks, header)) return invalid;
  const rows = rowsOf(header);
  const size = rows.reduce((sum, { bytes: row, count }) => sum + row * count, 0);
  if (size > mostPixelBytes)
    return `it has too many pixels (${header.width}x${header.height}); use a smaller figure or dpi`;
  const compressed = chunks.filter(({ type }) => type === "IDAT").map(({ body }) => body);
  return hasAllRows(Buffer.concat(compressed), rows, size) ? undefined : invalid;
}

/** The size in pixels that a PNG states. */
export function pngSize(data: Uint8Array): { readonly width: number; readonly height: number } {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  return { width: view.getUint32(16), height: view.getUint32(20) };
}

/** How many bytes the pixels of a PNG take, as far as its header is readable. */
export function pixelBytesOf(data: Uint8Array): number {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const header = bytes.length < 29 ? undefined : headerOf(bytes.subarray(16, 29));
  return header ? rowsOf(header).reduce((sum, { bytes: row, count }) => sum + row * count, 0) : 0;
}

interface Chunk {
  readonly type: string;
  readonly body: Buffer;
}

/** Undefined if the structure or a checksum is wrong. */
function chunksOf(bytes: Buffer): Chunk[] | undefined {
  if (!bytes.subarray(0, 8).equals(signature)) return undefined;
  const chunks: Chunk[] = [];
  for (let at = 8; at < bytes.length; ) {
    if (bytes.length - at < 12) return undefined;
    const end = at + 12 + bytes.readUInt32BE(at);
    if (end > bytes.length || crc32(bytes.subarray(at + 4, end - 4)) !== bytes.readUInt32BE(end - 4)) return undefined;
    chunks.push({ type: bytes.toString("latin1", at + 4, at + 8), body: bytes.subarray(at + 8, end - 4) });
    at = end;
  }
  return chunks;
}

function headerOf(body: Buffer): Header | undefined {
  if (body.length !== 13) return undefined;
  const [width, height] = [body.readUInt32BE(0), body.readUInt32BE(4)];
  const [depth = 0, kind = 0, compression, filter, interlace] = body.subarray(8);
  const { samples = 0, depths = [] } = kinds[kind] ?? {};
  const isPossible = [width, height].every((side) => side > 0 && side <= longestSide) && depths.includes(depth);
  if (!isPossible || compression !== 0 || filter !== 0 || (interlace !== 0 && interlace !== 1)) return undefined;
  return { width, height, bitsPerPixel: samples * depth, hasPalette: kind === 3, isInterlaced: interlace === 1 };
}

/** One header, the pixels in one place and after the palette, the end at the end, and nothing that a decoder must know but may not. */
function isOrderly(chunks: readonly Chunk[], { hasPalette }: Header): boolean {
  const critical = chunks.map(({ type }) => type).filter((type) => /^[A-Z]/.test(type));
  if (!/^IHDR (?:PLTE )?(?:IDAT )+IEND$/.test(critical.join(" "))) return false;
  if (chunks.some(({ type }) => !/^[A-Za-z]{2}[A-Z][A-Za-z]$/.test(type))) return false;
  const types = chunks.map(({ type }) => type);
  const pixels = types.slice(types.indexOf("IDAT"), types.lastIndexOf("IDAT") + 1);
  const palette = chunks.find(({ type }) => type === "PLTE")?.body.length;
  const isPaletteRight = palette === undefined ? !hasPalette : palette > 0 && palette <= 768 && palette % 3 === 0;
  const last = chunks.at(-1);
  return isPaletteRight && pixels.every((type) => type === "IDAT") && last?.type === "IEND" && last.body.length === 0;
}

/** Rows of the same length, each with the byte of its filter. */
interface Rows {
  readonly bytes: number;
  readonly count: number;
}

function rowsOf({ width, height, bitsPerPixel, isInterlaced }: Header): Rows[] {
  const rows = (columns: number, count: number) => ({ bytes: 1 + Math.ceil((columns * bitsPerPixel) / 8), count });
  if (!isInterlaced) return [rows(width, height)];
  return interlacedPasses.flatMap(([x, y, dx, dy]) => {
    const [columns, count] = [Math.ceil((width - x) / dx), Math.ceil((height - y) / dy)];
    return columns > 0 && count > 0 ? [rows(columns, count)] : [];
  });
}

function hasAllRows(compressed: Buffer, rows: readonly Rows[], size: number): boolean {
  let pixels: Buffer;
  try {
    pixels = inflateSync(compressed, { maxOutputLength: size });
  } catch {
    return false;
  }
  if (pixels.length !== size) return false;
  let at = 0;
  for (const { bytes, count } of rows) {
    for (let row = 0; row < count; row++, at += bytes) if ((pixels[at] as number) > 4) return false;
  }
  return true;
}
