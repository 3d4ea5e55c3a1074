/** The part of DER that certificates need. Each function makes one element. */
const tag = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  identifier: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

export function element(tagByte: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tagByte]), length(content.length), content]);
}

export const sequence = (...items: readonly Buffer[]): Buffer => element(tag.sequence, ...items);
export const set = (...items: readonly Buffer[]): Buffer => element(tag.set, ...items);
export const octets = (content: Buffer): Buffer => element(tag.octets, content);
export const utf8 = (text: string): Buffer => element(tag.utf8, Buffer.from(text));
export const yes = element(tag.boolean, Buffer.from([0xff]));

/** An explicit `[number]` tag around elements. */
export const tagged = (number: number, ...items: readonly Buffer[]): Buffer => element(0xa0 | number, ...items);
/** An implicit `[number]` tag, in place of a simple type's own tag. */
export const named = (number: number, content: Buffer): Buffer => element(0x80 | number, content);

/** A non-negative integer from its bytes: no leading zeros, except one that keeps the sign bit clear. */
export function integer(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const short = first < 0 ? Buffer.from([0]) : bytes.subarray(first);
  return element(tag.integer, ...((short[0] ?? 0) >= 0x80 ? [Buffer.from([0])] : []), short);
}

export function bits(content: Buffer, unused = 0): Buffer {
  return element(tag.bits, Buffer.from([unused]), content);
}

/** `2.5.29.15` */
export function identifier(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  return element(tag.identifier, ...[first * 40 + second, ...rest].map(base128));
}

/** UTCTime with a two-digit year until 2049, GeneralizedTime after that. */
export function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/\.\d+/, "").replace(/[-:T]/g, "");
  const isShort = date.getUTCFullYear() < 2050;
  return isShort
    ? element(tag.utcTime, Buffer.from(digits.slice(2)))
    : element(tag.generalizedTime, Buffer.from(digits));
}

function length(size: number): Buffer {
  if (size < 0x80) return Buffer.from([size]);
  const bytes =
    size < 0x100 ? [size] : size < 0x1_0000 ? [size >> 8, size & 255] : [size >> 16, (size >> 8) & 255, size & 255];
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

function base128(number: number): Buffer {
  const bytes = [number & 0x7f];
  for (let rest = number >> 7; rest > 0; rest >>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return Buffer.from(bytes);
}
