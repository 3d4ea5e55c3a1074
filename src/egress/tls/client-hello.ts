/** The result of parsing a client's first bytes. */
export type HelloVerdict =
  /** `atLeast`: with fewer bytes than this in total, the answer is the same */
  | { readonly kind: "more"; readonly atLeast: number }
  | { readonly kind: "not_tls" }
  | { readonly kind: "hello"; readonly serverName: string | undefined; readonly isEncrypted: boolean }
  | { readonly kind: "malformed"; readonly why: string };

/** A hello with post-quantum keys has about 2 KB; anything longer than this is refused. */
export const maxHelloBytes = 64 * 1024;

const handshakeRecord = 22;
const clientHello = 1;
const extension = { serverName: 0, encryptedHello: 0xfe0d } as const;
const maxRecordBytes = 16_384;

/**
 * Reads the server name from a ClientHello, across TCP segments and TLS records. The attack: a hello that is split into records
 * of one byte. Servers accept it, but a parser that reads only the first record misses the name.
 */
export function readClientHello(bytes: Buffer): HelloVerdict {
  if (bytes.length === 0) return { kind: "more", atLeast: 1 };
  if (bytes[0] !== handshakeRecord) return { kind: "not_tls" };
  const message = handshakeMessage(bytes);
  if (typeof message === "string") return { kind: "malformed", why: message };
  if (typeof message === "number") {
    if (bytes.length >= maxHelloBytes) return { kind: "malformed", why: "the TLS hello is too long" };
    return { kind: "more", atLeast: Math.min(message, maxHelloBytes) };
  }
  try {
    return readExtensions(new Cursor(message));
  } catch (error) {
    if (error instanceof BadHello) return { kind: "malformed", why: error.message };
    throw error;
  }
}

/**
 * The body of the first handshake message; an error text if it is invalid; while bytes are missing, how many there must be at
 * least. Each byte is copied once. The attack: ten thousand records of one byte, which take seconds if they are joined again for
 * each record.
 */
function handshakeMessage(bytes: Buffer): Buffer | string | number {
  const gathered = Buffer.alloc(bytes.length);
  let count = 0;
  let missing = 4;
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] !== handshakeRecord) return "another TLS record came before the end of the hello";
    if (bytes.length - at < 5) return at + 5 + missing;
    if (bytes[at + 1] !== 3) return "not a version of TLS";
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0 || length > maxRecordBytes) return "a TLS record of a forbidden length";
    const copied = bytes.copy(gathered, count, at + 5, at + 5 + length);
    count += copied;
    at += 5 + length;
    if (count >= 4) {
      if (gathered[0] !== clientHello) return "the first TLS message is not a ClientHello";
      const size = gathered.readUIntBE(1, 3);
      if (size > maxHelloBytes) return "the TLS hello is too long";
      missing = 4 + size - count;
      if (missing <= 0) return gathered.subarray(4, 4 + size);
    } else missing = 4 - count;
    // The rest of this record may be all that is missing.
    if (copied < length) return bytes.length + missing;
  }
  return bytes.length + 5 + missing;
}

function readExtensions(cursor: Cursor): HelloVerdict {
  cursor.skip(2 + 32); // version, random
  cursor.skip(cursor.byte()); // session
  cursor.skip(cursor.short()); // cipher suites
  cursor.skip(cursor.byte()); // compression
  if (cursor.left === 0) return { kind: "hello", serverName: undefined, isEncrypted: false };
  if (cursor.short() !== cursor.left) throw new BadHello("bytes after the TLS extensions");
  const seen = new Set<number>();
  let serverName: string | undefined;
  while (cursor.left > 0) {
    const type = cursor.short();
    const content = cursor.take(cursor.short());
    // Parsers disagree on which of two extensions counts.
    if (seen.has(type)) throw new BadHello("a TLS extension appears twice");
    seen.add(type);
    if (type === extension.serverName) serverName = readServerName(new Cursor(content));
  }
  return { kind: "hello", serverName, isEncrypted: seen.has(extension.encryptedHello) };
}

/** Exactly one name, of type host_name. */
function readServerName(cursor: Cursor): string {
  if (cursor.short() !== cursor.left) throw new BadHello("a malformed TLS server name");
  if (cursor.byte() !== 0) throw new BadHello("a TLS server name of an unknown type");
  const name = cursor.take(cursor.short()).toString("latin1");
  if (cursor.left > 0) throw new BadHello("more than one TLS server name");
  if (!/^[A-Za-z0-9._-]{1,253}$/.test(name)) throw new BadHello("a TLS server name with forbidden characters");
  return name.toLowerCase();
}

class BadHello extends Error {}

/** Reads numbers and slices, never past the end. */
class Cursor {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  take(count: number): Buffer {
    if (count > this.left) throw new BadHello("the TLS hello ends too early");
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }

  skip(count: number): void {
    this.take(count);
  }

  byte(): number {
    return this.take(1).readUInt8(0);
  }

  short(): number {
    return this.take(2).readUInt16BE(0);
  }
}
