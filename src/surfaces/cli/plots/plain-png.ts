const kept: ReadonlySet<string> = new Set(["IHDR", "PLTE", "tRNS", "IDAT", "IEND"]);

/**
 * A sound PNG without anything but its pixels. Colour profiles, compressed texts and EXIF data are read by other code of a
 * terminal's image library, which nobody has checked here.
 */
export function plainPng(data: Uint8Array): Uint8Array {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const parts = [
    bytes.subarray(0, 8),
    ...pngChunks(bytes).flatMap(({ type, whole }) => (kept.has(type) ? [whole] : [])),
  ];
  return Buffer.concat(parts);
}

export interface PngChunk {
  readonly type: string;
  readonly body: Buffer;
  /** with its length and checksum */
  readonly whole: Buffer;
}

/** The chunks of a PNG that `pngProblem` found sound. */
export function pngChunks(bytes: Buffer): PngChunk[] {
  const chunks: PngChunk[] = [];
  for (let at = 8; at + 12 <= bytes.length; ) {
    const end = at + 12 + bytes.readUInt32BE(at);
    const type = bytes.toString("latin1", at + 4, at + 8);
    chunks.push({ type, body: bytes.subarray(at + 8, end - 4), whole: bytes.subarray(at, end) });
    at = end;
  }
  return chunks;
}
