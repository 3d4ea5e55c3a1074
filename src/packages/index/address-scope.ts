import { BlockList, isIP } from "node:net";

/** How far an address reaches: `local` is this machine or its link, with the metadata services of clouds. */
export type AddressScope = "local" | "private" | "public";

const local = blockList([
  ...["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3"],
  ...["::/128", "::1/128", "fe80::/10", "ff00::/8"],
]);
const privates = blockList([
  ...["10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15"],
  ...["fc00::/7", "fec0::/10", "64:ff9b::/96", "2002::/16"],
]);

/** What is not an address counts as `local`, which is trusted the least. */
export function addressScope(address: string): AddressScope {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
  const family = isIP(plain);
  if (family === 0) return "local";
  const kind = family === 4 ? "ipv4" : "ipv6";
  if (local.check(plain, kind)) return "local";
  return privates.check(plain, kind) ? "private" : "public";
}

/** The attack: a public index names a file on a private address, and the host asks a service that trusts its network. */
export function mayReach(target: AddressScope, index: AddressScope): boolean {
  const order: readonly AddressScope[] = ["local", "private", "public"];
  return order.indexOf(target) >= order.indexOf(index);
}

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits = ""] = network.split("/");
    list.addSubnet(address, Number(bits), address.includes(":") ? "ipv6" : "ipv4");
  }
  return list;
}
