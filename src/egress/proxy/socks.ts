/** A parsed SOCKS5 message; `used` is its length in bytes. */
export type SocksStep<Found> = { readonly kind: "more" } | SocksMessage<Found>;

export type SocksMessage<Found> =
  | { readonly kind: "refused"; readonly reply: number; readonly why: string }
  | ({ readonly kind: "read"; readonly used: number } & Found);

export const socksVersion = 5;
export const socksReply = {
  granted: 0,
  failure: 1,
  notAllowed: 2,
  unreachable: 4,
  commandUnsupported: 7,
  addressUnsupported: 8,
} as const;
const noMethod = 0xff;
const command = { connect: 1 } as const;
const addressType = { v4: 1, name: 3, v6: 4 } as const;

/** The client's first message: its authentication methods. Only "none" is supported. */
export function readGreeting(bytes: Buffer): SocksStep<object> {
  const [version, count] = bytes;
  if (version !== undefined && version !== socksVersion) return refused(noMethod, "not SOCKS 5");
  if (count === undefined || bytes.length < 2 + count) return { kind: "more" };
  if (!bytes.subarray(2, 2 + count).includes(0)) return refused(noMethod, "the client requires authentication");
  return { kind: "read", used: 2 + count };
}

/** The client's second message: what to connect to. An IP address in place of a name is treated as an address. */
export function readSocksRequest(bytes: Buffer): SocksStep<{ readonly host: string; readonly port: number }> {
  if (bytes.length < 5) return { kind: "more" };
  const [version, asked, reserved, type, first = 0] = bytes;
  if (version !== socksVersion || reserved !== 0) return refused(socksReply.failure, "a malformed SOCKS request");
  if (asked !== command.connect) return refused(socksReply.commandUnsupported, "only SOCKS CONNECT is served");
  const [from, size] = type === addressType.name ? [5, first] : [4, sizes.get(type ?? 0)];
  if (size === undefined) return refused(socksReply.addressUnsupported, "an unknown type of SOCKS address");
  const end = from + size;
  if (bytes.length < end + 2) return { kind: "more" };
  const raw = bytes.subarray(from, end);
  const host = type === addressType.name ? raw.toString() : numeric(raw);
  return { kind: "read", used: end + 2, host, port: bytes.readUInt16BE(end) };
}

/** A reply without an address, so that the cell does not learn what was dialled. */
export function socksAnswer(reply: number): Buffer {
  return Buffer.from([socksVersion, reply, 0, addressType.v4, 0, 0, 0, 0, 0, 0]);
}

const sizes = new Map<number, number>([
  [addressType.v4, 4],
  [addressType.v6, 16],
]);

function numeric(raw: Buffer): string {
  return raw.length === 4 ? raw.join(".") : `[${raw.toString("hex").replace(/(.{4})(?=.)/g, "$1:")}]`;
}

function refused(reply: number, why: string): { kind: "refused"; reply: number; why: string } {
  return { kind: "refused", reply, why };
}
