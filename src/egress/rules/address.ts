import { isIPv4, isIPv6 } from "node:net";

/** Networks that no cell may reach, whatever name resolves to them. */
const closedV4: readonly (readonly [network: string, prefix: number, what: string])[] = [
  ["0.0.0.0", 8, "this host"],
  ["10.0.0.0", 8, "a private network"],
  ["100.64.0.0", 10, "a provider's internal network"],
  ["127.0.0.0", 8, "loopback"],
  ["168.63.129.16", 32, "a cloud's metadata service"],
  ["169.254.0.0", 16, "link-local, where clouds serve metadata"],
  ["172.16.0.0", 12, "a private network"],
  ["192.0.0.0", 24, "reserved"],
  ["192.0.2.0", 24, "documentation"],
  ["192.88.99.0", 24, "reserved"],
  ["192.168.0.0", 16, "a private network"],
  ["198.18.0.0", 15, "a test network"],
  ["198.51.100.0", 24, "documentation"],
  ["203.0.113.0", 24, "documentation"],
  ["224.0.0.0", 4, "multicast"],
  ["240.0.0.0", 4, "reserved"],
];

/** Only 2000::/3 of IPv6 is public, except these networks. */
const closedV6: readonly (readonly [network: string, prefix: number, what: string])[] = [
  ["2001::", 23, "reserved, and tunnels to IPv4 (Teredo)"],
  ["2001:db8::", 32, "documentation"],
  ["2002::", 16, "a tunnel to IPv4 (6to4)"],
  ["3ffe::", 16, "reserved"],
  ["3fff::", 20, "documentation"],
];

/** Names of other IPv6 networks, to explain a refusal. */
const namedV6: typeof closedV6 = [
  ["::", 128, "this host"],
  ["::1", 128, "loopback"],
  ["::ffff:0:0", 96, "IPv4 in IPv6 clothes"],
  ["::", 96, "IPv4 in IPv6 clothes"],
  ["64:ff9b::", 96, "IPv4 behind a translator (NAT64)"],
  ["64:ff9b:1::", 48, "IPv4 behind a translator (NAT64)"],
  ["fc00::", 7, "a private network"],
  ["fe80::", 10, "link-local"],
  ["fec0::", 10, "a private network"],
  ["ff00::", 8, "multicast"],
];

/** Why an address may not be dialled, or undefined for a public one. Text that does not parse is refused. */
export function closedAddress(address: string): string | undefined {
  if (isIPv4(address)) {
    const number = v4Number(address);
    return closedV4.find(([network, prefix]) => sharesPrefix(number, v4Number(network), prefix, 32))?.[2];
  }
  if (!isIPv6(address) || address.includes("%")) return "not an address";
  const number = v6Number(address);
  const isIn = ([network, prefix]: readonly [string, number, string]) =>
    sharesPrefix(number, v6Number(network), prefix, 128);
  if (number >> 125n === 1n) return closedV6.find(isIn)?.[2];
  return namedV6.find(isIn)?.[2] ?? "reserved";
}

/** Whether two spellings are the same address. */
export function isSameAddress(a: string, b: string): boolean {
  return a === b || (isIPv6(a) && isIPv6(b) && v6Number(a) === v6Number(b));
}

function sharesPrefix(a: bigint, b: bigint, prefix: number, width: number): boolean {
  const shift = BigInt(width - prefix);
  return a >> shift === b >> shift;
}

function v4Number(text: string): bigint {
  return text.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n);
}

function v6Number(text: string): bigint {
  const [head = "", tail] = text.split("::");
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const all = [...before, ...Array<bigint>(8 - before.length - after.length).fill(0n), ...after];
  return all.reduce((sum, group) => sum * 65_536n + group, 0n);
}

function groups(text: string): bigint[] {
  if (text === "") return [];
  return text.split(":").flatMap((part) => {
    if (!part.includes(".")) return [BigInt(`0x${part}`)];
    const number = v4Number(part);
    return [number >> 16n, number & 0xffffn];
  });
}
