import { type IndexAddress, parseIndexAddress } from "./index-address.ts";
import { findPipIndex, readBuiltInIndex } from "./pip-index.ts";

/** The indexes to ask, in order. */
export interface ConfiguredIndexes {
  /** what a lock record depends on; cheap, and without credentials */
  readonly identity: readonly string[];
  /** asks the host's pip if nothing is configured, which starts a Python */
  readonly addresses: () => Promise<readonly IndexAddress[]>;
}

/** The policy's list, or the one index that this user's pip uses. Never both: that would be dependency confusion. */
export async function configuredIndexes(
  listed: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<ConfiguredIndexes> {
  if (listed.length > 0) return known(listed.map((text) => parseIndexAddress(text, "kernel.packages.index")));
  const configured = await findPipIndex(environment);
  if (configured) return known([parseIndexAddress(configured.address, configured.from)]);
  return {
    identity: ["pip's built-in index"],
    addresses: async () => [parseIndexAddress(await readBuiltInIndex(environment), "the built-in index of pip")],
  };
}

function known(addresses: readonly IndexAddress[]): ConfiguredIndexes {
  return { identity: addresses.map(({ shown }) => shown), addresses: async () => addresses };
}
