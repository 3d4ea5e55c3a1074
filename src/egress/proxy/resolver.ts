import { lookup } from "node:dns/promises";

export interface Resolved {
  readonly address: string;
  /** set by the program, not by a name server; exempt from the address rules */
  readonly isFixed: boolean;
}

/** Resolves names on the host. */
export type Resolve = (host: string) => Promise<readonly Resolved[]>;

/** The host's own resolver. The trailing dot prevents search domains from changing the name. */
export const resolveOnHost: Resolve = async (host) => {
  const found = await lookup(`${host}.`, { all: true, verbatim: true });
  return found.map(({ address }) => ({ address, isFixed: false }));
};

/**
 * Has fixed answers for some names. For tests and for programs that embed codecell and pin names: a policy cannot set it.
 */
export function withFixedAddresses(fixed: Readonly<Record<string, string>>, otherwise: Resolve): Resolve {
  const known = new Map(Object.entries(fixed));
  return async (host) => {
    const address = known.get(host);
    return address === undefined ? otherwise(host) : [{ address, isFixed: true }];
  };
}
