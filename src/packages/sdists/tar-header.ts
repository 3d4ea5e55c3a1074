/** One header of a tar file, as POSIX and GNU write it. */
export interface TarHeader {
  readonly path: string;
  readonly bytes: number;
  /** `0` is a file, `5` a directory, `x` and `L` say something about the next entry */
  readonly type: string;
}

export const blockBytes = 512;

/** Undefined: the empty block at the end. Throws a plain `Error` with the reason for what is not a header. */
export function parseTarHeader(block: Buffer): TarHeader | undefined {
  if (block.every((byte) => byte === 0)) return undefined;
  const claimed = octal(block.subarray(148, 156));
  let sum = 0;
  for (let at = 0; at < blockBytes; at++) sum += at >= 148 && at < 156 ? 0x20 : (block[at] ?? 0);
  if (claimed !== sum) throw new Error("a header is damaged");
  const name = textOf(block.subarray(0, 100));
  const isPosix = block.subarray(257, 263).toString("latin1") === "ustar\0";
  const prefix = isPosix ? textOf(block.subarray(345, 500)) : "";
  const type = String.fromCharCode(block[156] ?? 0);
  return {
    path: prefix === "" ? name : `${prefix}/${name}`,
    bytes: octal(block.subarray(124, 136)),
    type: type === "\0" || type === "7" ? "0" : type,
  };
}

/** The records of a pax header: `27 path=…\n`. The length counts bytes, so that a value may have line ends. */
export function paxRecords(content: Buffer): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(0x20, at);
    const digits = content.subarray(at, space).toString("latin1");
    const length = Number(digits);
    const record = content.subarray(space + 1, at + length);
    const equals = record.indexOf(0x3d);
    const isWhole = space > at && /^\d{1,9}$/.test(digits) && at + length <= content.length && record.at(-1) === 0x0a;
    if (!isWhole || equals < 1) throw new Error("an extended header is damaged");
    records.set(record.subarray(0, equals).toString("utf8"), record.subarray(equals + 1, -1).toString("utf8"));
    at += length;
  }
  return records;
}

function textOf(field: Buffer): string {
  const end = field.indexOf(0);
  return field.subarray(0, end === -1 ? field.length : end).toString("utf8");
}

/** Sizes in base 256 are for more than 8 GiB: nothing of that size is read here. */
function octal(field: Buffer): number {
  const digits = textOf(field).trim();
  if (!/^[0-7]{1,11}$/.test(digits)) throw new Error("a number in a header cannot be read");
  return Number.parseInt(digits, 8);
}
