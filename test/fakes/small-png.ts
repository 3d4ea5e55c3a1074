/** The structure of a PNG: signature, header, data, end. It does not decode, which tests do not need. */
export function smallPng({ width = 8, bytes = 0 }: { width?: number; bytes?: number } = {}): Buffer {
  const header = Buffer.alloc(25);
  header.writeUInt32BE(13, 0);
  header.write("IHDR", 4, "latin1");
  header.writeUInt32BE(width, 8);
  header.writeUInt32BE(8, 12);
  const start = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
  const end = Buffer.from("\0\0\0\0IEND\xaeB`\x82", "latin1");
  const data = Buffer.alloc(Math.max(16, bytes - start.length - header.length - end.length));
  return Buffer.concat([start, header, data, end]);
}
