import { crc32, deflateRawSync } from "node:zlib";

const utf8Names = 0x0800;
const deflated = 8;
const madeByUnix = (3 << 8) | 20; // so that readers apply the file mode
/** 1980-01-01, the earliest date of the format, so that the same files always give the same bytes. */
const date = 0x0021;

/**
 * Pure: packs files into a zip archive. No ZIP64, so at most 65,535 files and 4 GiB.
 * @param {readonly { name: string, data: Uint8Array, isExecutable?: boolean }[]} files
 */
export function zip(files) {
  const bodies = [];
  const directory = [];
  let offset = 0;
  for (const { name, data, isExecutable = false } of files) {
    const path = Buffer.from(name);
    const packed = deflateRawSync(data, { level: 9 });
    const sizes = [crc32(data), packed.length, data.length];
    const facts = [
      u16(20),
      u16(utf8Names),
      u16(deflated),
      u16(0),
      u16(date),
      ...sizes.map(u32),
      u16(path.length),
      u16(0),
    ];
    const body = Buffer.concat([u32(0x04034b50), ...facts, path, packed]);
    const mode = (0o100000 | (isExecutable ? 0o755 : 0o644)) << 16;
    const place = [u16(0), u16(0), u16(0), u32(mode >>> 0), u32(offset), path];
    directory.push(Buffer.concat([u32(0x02014b50), u16(madeByUnix), ...facts, ...place]));
    bodies.push(body);
    offset += body.length;
  }
  const index = Buffer.concat(directory);
  const counts = [u16(0), u16(0), u16(files.length), u16(files.length), u32(index.length), u32(offset), u16(0)];
  return Buffer.concat([...bodies, index, u32(0x06054b50), ...counts]);
}

function u16(value) {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function u32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
