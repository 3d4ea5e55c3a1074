const pngStart = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
const pngEnd = Buffer.from("IEND\xaeB`\x82", "latin1");
const longestSide = 8_000;

/**
 * Whether bytes from a cell are a complete PNG of a reasonable size. With some clients, a damaged image in a conversation
 * makes every later request fail, so it must not be sent.
 */
export function isSoundPng(data: Uint8Array): boolean {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (bytes.length < 57 || !bytes.subarray(0, 8).equals(pngStart)) return false;
  if (bytes.toString("latin1", 12, 16) !== "IHDR" || !bytes.subarray(-8).equals(pngEnd)) return false;
  const { width, height } = pngSize(data);
  return [width, height].every((side) => side > 0 && side <= longestSide);
}

/** The size in pixels that a PNG states, which must be a sound one. */
export function pngSize(data: Uint8Array): { readonly width: number; readonly height: number } {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  return { width: view.getUint32(16), height: view.getUint32(20) };
}
