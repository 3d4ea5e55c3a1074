import { stat } from "node:fs/promises";
import { filePath, listChains, listFiles, namespaceOfChain } from "./chain/chain-files.ts";
import { ChainWriter, type ChainWriterOptions } from "./chain/chain-writer.ts";
import { isOlderThan } from "./prune.ts";

/**
 * Removes what the policy does not keep from chains without a writer. Each chain records its own removal, so that `verify` can
 * tell it from tampering. The writer of a tenant leaves the chains of others alone.
 */
export async function pruneIdleChains(options: ChainWriterOptions, own: string): Promise<void> {
  for (const chain of await listChains(options.dir)) {
    if (chain === own || !isMine(options, chain) || !(await keepsTooMuch(options, chain))) continue;
    await using writer = await ChainWriter.take(options, chain);
    // Another process has it, or it is evidence of tampering.
    if (!writer) continue;
    await writer.prune();
    writer.add({ type: "audit.closed" });
    await writer.sync();
  }
}

function isMine({ namespace }: ChainWriterOptions, chain: string): boolean {
  return namespace === undefined || namespaceOfChain(chain) === namespace;
}

async function keepsTooMuch({ dir, limits, now }: ChainWriterOptions, chain: string): Promise<boolean> {
  const paths = (await listFiles(dir, chain)).map((number) => filePath(dir, chain, number));
  const [oldest] = paths;
  if (oldest !== undefined && (await isOlderThan(limits.keepMs, oldest, now()))) return true;
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
  // the newest file is always kept, so its size alone is no reason
  return sizes.length > 1 && sizes.reduce((sum, size) => sum + size) > limits.keepBytes;
}
