const blockBytes = 512;

/** Pure: a build context with one file, as a tar archive. */
export function imageContext(name: string, content: string): Buffer {
  const data = Buffer.from(content);
  const padding = Buffer.alloc((blockBytes - (data.length % blockBytes)) % blockBytes);
  return Buffer.concat([tarHeader(name, data.length), data, padding, Buffer.alloc(2 * blockBytes)]);
}

/** Pure: the ustar header of a regular file. Its time is zero, so that the same Dockerfile gives the same bytes. */
export function tarHeader(name: string, size: number): Buffer {
  const header = Buffer.alloc(blockBytes);
  const octal = (value: number, width: number) => `${value.toString(8).padStart(width - 1, "0")}\0`;
  if (Buffer.byteLength(name) > 100) throw new RangeError(`too long for a tar header: ${name}`);
  header.write(name, 0);
  header.write(octal(0o644, 8), 100);
  header.write(octal(0, 8), 108); // owner
  header.write(octal(0, 8), 116); // group
  header.write(octal(size, 12), 124);
  header.write(octal(0, 12), 136); // time
  header.write(" ".repeat(8), 148); // the checksum is computed with its own field blank
  header.write("0", 156); // a regular file
  header.write("ustar\0" + "00", 257, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}
