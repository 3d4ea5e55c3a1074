import { deflateRawSync } from "node:zlib";

/** An entry of a zip file, honest or not. */
export interface ZipEntry {
  readonly path: string;
  readonly content: string | Buffer;
  /** Unix mode with file type; 0o100644 by default */
  readonly mode?: number;
  /** what the directory claims instead of the real size */
  readonly claimedBytes?: number;
  /** uses the data of an earlier entry instead of its own */
  readonly dataOf?: number;
}

const table = Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});

/** A zip file with every entry deflated. Nothing is checked, so that tests can make hostile ones. */
export function zipFile(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  const written: { offset: number; packed: number; crc: number }[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.path);
    const content = Buffer.from(entry.content);
    const earlier = entry.dataOf === undefined ? undefined : written[entry.dataOf];
    const data = deflateRawSync(content, { level: 9 });
    const own = earlier ?? { offset, packed: data.length, crc: crc32(content) };
    written.push(own);
    const bytes = entry.claimedBytes ?? content.length;
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0); // version needed
    common.writeUInt16LE(0x800, 2); // names are UTF-8
    common.writeUInt16LE(8, 4); // deflate
    common.writeUInt32LE(0x21_0000, 6); // 1980-01-01
    common.writeUInt32LE(own.crc, 10);
    common.writeUInt32LE(own.packed, 14);
    common.writeUInt32LE(bytes, 18);
    common.writeUInt16LE(name.length, 22);
    if (!earlier) {
      const local = Buffer.concat([Buffer.from("PK\x03\x04"), common, name, data]);
      parts.push(local);
      offset += local.length;
    }
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE((((entry.mode ?? 0o100644) << 16) >>> 0) as number, 6);
    rest.writeUInt32LE(own.offset, 10);
    directory.push(Buffer.from("PK\x01\x02"), Buffer.from([20, 3]), common, rest, name);
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, central, Buffer.from("PK\x05\x06"), end]);
}

function crc32(data: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of data) crc = (crc >>> 8) ^ (table[(crc ^ byte) & 0xff] ?? 0);
  return (crc ^ 0xffffffff) >>> 0;
}
