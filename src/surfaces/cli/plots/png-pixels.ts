import { inflateSync } from "node:zlib";
import { interlacedPasses } from "../../../service/replies/sound-image.ts";
import { pngChunks } from "./plain-png.ts";

/** Pixels as red, green and blue, one byte each, on a white background. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly rgb: Uint8Array;
}

const wholePicture = [[0, 0, 1, 1]] as const;
const samplesOf: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

/** Decodes a PNG that `pngProblem` found sound, so its size is limited and its rows are complete. */
export function pngPixels(data: Uint8Array): Pixels {
  const chunks = pngChunks(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  const body = (type: string) => Buffer.concat(chunks.filter((one) => one.type === type).map((one) => one.body));
  const header = body("IHDR");
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const [depth = 8, kind = 0, , , isInterlaced] = header.subarray(8);
  const samples = samplesOf[kind] ?? 1;
  const rows = inflateSync(body("IDAT"));
  const rgb = new Uint8Array(width * height * 3).fill(255);
  const paint = painter({ depth, kind, palette: body("PLTE"), transparency: body("tRNS") }, rgb);
  const pixelBytes = Math.max(1, (samples * depth) >> 3);
  let at = 0;
  for (const [x0, y0, dx, dy] of isInterlaced ? interlacedPasses : wholePicture) {
    const columns = Math.ceil((width - x0) / dx);
    const rowBytes = Math.ceil((columns * samples * depth) / 8);
    if (columns <= 0) continue;
    let before = new Uint8Array(rowBytes);
    for (let y = y0; y < height; y += dy, at += 1 + rowBytes) {
      const row = rows.subarray(at + 1, at + 1 + rowBytes);
      unfilter(rows[at] ?? 0, row, before, pixelBytes);
      for (let i = 0; i < columns; i++) paint(row, i, (y * width + x0 + i * dx) * 3);
      before = row;
    }
  }
  return { width, height, rgb };
}

interface Format {
  readonly depth: number;
  readonly kind: number;
  readonly palette: Buffer;
  readonly transparency: Buffer;
}

/** Writes pixel `i` of a row at an offset of the picture. */
function painter({ depth, kind, palette, transparency }: Format, rgb: Uint8Array) {
  const samples = samplesOf[kind] ?? 1;
  const scale = depth < 8 ? 255 / ((1 << depth) - 1) : 1;
  const sample = (row: Uint8Array, index: number): number => {
    if (depth === 8) return row[index] ?? 0;
    if (depth === 16) return row[index * 2] ?? 0;
    const bit = index * depth;
    return ((row[bit >> 3] ?? 0) >> (8 - depth - (bit & 7))) & ((1 << depth) - 1);
  };
  return (row: Uint8Array, i: number, to: number): void => {
    const first = sample(row, i * samples);
    const hasColours = kind === 2 || kind === 6;
    let alpha = 255;
    if (kind === 3) alpha = transparency[first] ?? 255;
    else if (kind === 4 || kind === 6) alpha = sample(row, i * samples + samples - 1);
    for (let c = 0; c < 3; c++) {
      let value = first * scale;
      if (kind === 3) value = palette[first * 3 + c] ?? 0;
      else if (hasColours) value = sample(row, i * samples + c);
      rgb[to + c] = 255 + ((value - 255) * alpha) / 255;
    }
  };
}

/** Undoes the filter of one row, in place. */
function unfilter(filter: number, row: Uint8Array, above: Uint8Array, step: number): void {
  if (filter === 0) return;
  for (let i = 0; i < row.length; i++) {
    const left = i < step ? 0 : (row[i - step] ?? 0);
    const up = above[i] ?? 0;
    const corner = i < step ? 0 : (above[i - step] ?? 0);
    let guess = left;
    if (filter === 2) guess = up;
    else if (filter === 3) guess = (left + up) >> 1;
    else if (filter === 4) guess = paeth(left, up, corner);
    row[i] = (row[i] ?? 0) + guess;
  }
}

function paeth(left: number, up: number, corner: number): number {
  const sum = left + up - corner;
  const [a, b, c] = [Math.abs(sum - left), Math.abs(sum - up), Math.abs(sum - corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

/** The picture with at most this many columns of pixels; each pixel is the average of those it stands for. */
export function narrowed(pixels: Pixels, maxWidth: number): Pixels {
  const { width, height, rgb } = pixels;
  const factor = Math.ceil(width / Math.max(1, maxWidth));
  if (factor <= 1) return pixels;
  const [columns, rows] = [Math.ceil(width / factor), Math.ceil(height / factor)];
  const sums = new Uint32Array(columns * rows * 3);
  const counts = new Uint32Array(columns * rows);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const to = Math.floor(y / factor) * columns + Math.floor(x / factor);
      const from = (y * width + x) * 3;
      counts[to] = (counts[to] ?? 0) + 1;
      for (let c = 0; c < 3; c++) sums[to * 3 + c] = (sums[to * 3 + c] ?? 0) + (rgb[from + c] ?? 0);
    }
  }
  const small = Uint8Array.from(sums, (sum, i) => sum / (counts[Math.floor(i / 3)] ?? 1));
  return { width: columns, height: rows, rgb: small };
}
