import { lookup } from "node:dns/promises";

export interface Resolved {
  readonly address: string;
  /** put there by whoever made the resolver, and not by a name server: the address rules do not ask about it */
  readonly isFixed: boolean;
}

/** Names to addresses, on the host. */
export type Resolve = (host: string) => Promise<readonly Resolved[]>;

/** The host's own resolver. The root's dot keeps search domains from making another name of this one. */
export const resolveOnHost: Resolve = async (host) => {
  const found = await lookup(`${host}.`, { all: true, verbatim: true });
  return found.map(({ address }) => ({ address, isFixed: false }));
};

/**
 * Answers for some names itself. For tests and for hosts that pin names: given to a constructor by the program that embeds
 * codecell, and by nothing that a policy can say.
 */
export function withFixedAddresses(fixed: Readonly<Record<string, string>>, otherwise: Resolve): Resolve {
  const known = new Map(Object.entries(fixed));
  return async (host) => {
    const address = known.get(host);
    return address === undefined ? otherwise(host) : [{ address, isFixed: true }];
  };
}
