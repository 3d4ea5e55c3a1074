import { crc32, deflateSync } from "node:zlib";

const start = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
const none = Buffer.alloc(0);

/** A chunk of a PNG, with the right checksum. */
export function pngChunk(type: string, data: Uint8Array = none): Buffer {
  const chunk = Buffer.alloc(12 + data.byteLength);
  chunk.writeUInt32BE(data.byteLength, 0);
  chunk.write(type, 4, "latin1");
  chunk.set(data, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -4)), 8 + data.byteLength);
  return chunk;
}

export interface PngParts {
  readonly width?: number;
  readonly height?: number;
  /** bits per sample, kind of pixel, compression, filter, interlace */
  readonly format?: readonly number[];
  /** the pixels before they are compressed; default: as many zeros as the header requires for gray pixels of 8 bits */
  readonly pixels?: Uint8Array;
  /** chunks between header and pixels */
  readonly extra?: readonly Buffer[];
  /** the size of the file, at least */
  readonly bytes?: number;
}

/** A gray PNG that every decoder accepts, unless its parts say otherwise. */
export function smallPng(parts: PngParts = {}): Buffer {
  const { width = 8, height = 8, format = [8, 0, 0, 0, 0], extra = [], bytes = 0 } = parts;
  const { pixels = Buffer.alloc(Math.min((width + 1) * height, 2 ** 20)) } = parts;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set(format, 8);
  const body = [pngChunk("IHDR", header), ...extra, pngChunk("IDAT", deflateSync(pixels)), pngChunk("IEND")];
  const size = start.length + body.reduce((sum, { length }) => sum + length, 0);
  const padding = bytes > size ? [pngChunk("tEXt", Buffer.alloc(Math.max(0, bytes - size - 12), "x"))] : [];
  return Buffer.concat([start, body[0] as Buffer, ...padding, ...body.slice(1)]);
}
