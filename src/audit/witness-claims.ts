import { openLine } from "./chain/chain.ts";
import { filePath, listFiles } from "./chain/chain-files.ts";
import type { ChainReport } from "./chain/chain-reader.ts";
import { readLines } from "./read-lines.ts";

/** A line of a chain, as witnessed by the writer of another one. */
export interface WitnessClaim {
  readonly seq: number;
  readonly hash: string;
  /** the chain of the witness */
  readonly by: string;
}

/** What the chains witnessed of each other, without duplicates. */
export function claimsByChain(chains: readonly ChainReport[]): ReadonlyMap<string, readonly WitnessClaim[]> {
  const found = new Map<string, Map<string, WitnessClaim>>();
  for (const { chain: by, witnessed } of chains) {
    for (const { chain, seq, hash } of witnessed) {
      const claims = found.get(chain) ?? new Map<string, WitnessClaim>();
      found.set(chain, claims);
      const key = `${seq} ${hash}`;
      if (!claims.has(key)) claims.set(key, { seq, hash, by });
    }
  }
  return new Map([...found].map(([chain, claims]) => [chain, [...claims.values()]]));
}

/**
 * Claims that no line of the chain confirms, lowest number first. Checked in one pass, because every process that ever wrote
 * next to this chain may have made one.
 */
export async function claimsNotIn(
  dir: string,
  chain: string,
  claims: readonly WitnessClaim[],
): Promise<readonly WitnessClaim[]> {
  const open = new Set(claims);
  const bySeq = new Map<string, WitnessClaim[]>();
  for (const claim of claims) bySeq.set(String(claim.seq), [...(bySeq.get(String(claim.seq)) ?? []), claim]);
  for (const number of await listFiles(dir, chain)) {
    if (open.size === 0) break;
    for await (const { bytes } of readLines(filePath(dir, chain, number))) {
      const about = bySeq.get(/^\{"v":1,"seq":(\d+),/.exec(bytes.toString("latin1", 0, 32))?.[1] ?? "");
      if (!about) continue;
      const line = openLine(bytes);
      // A torn part may contain another line with the same number.
      for (const claim of about) if (!("problem" in line) && line.hash === claim.hash) open.delete(claim);
    }
  }
  return [...open].sort((a, b) => a.seq - b.seq);
}
