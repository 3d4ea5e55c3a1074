import { genesisHash, openLine } from "./chain.ts";
import { filePath, listChains, listFiles } from "./chain-files.ts";
import { isChainLive } from "./chain-lock.ts";
import type { AuditProblem, ChainReport } from "./chain-reader.ts";
import type { ChainHead } from "./event.ts";
import { readLines } from "./read-lines.ts";
import { verifyChain } from "./verify-chain.ts";

/** What an audit directory holds and everything that is wrong with it. */
export interface AuditReport {
  readonly isSound: boolean;
  readonly chains: readonly ChainReport[];
  readonly problems: readonly AuditProblem[];
}

/** How often a reading begins anew because files went meanwhile. They go oldest first, so one in vain is short. */
const maxReadings = 200;

/**
 * Finds every edited, removed, reordered or repeated line, offline. The last lines of a chain, or a whole chain, can only
 * be missed by somebody who remembers them: its head file, other chains, or the heads given here.
 */
export async function verifyAudit(
  dir: string,
  options: { readonly heads?: readonly ChainHead[] } = {},
): Promise<AuditReport> {
  for (let reading = 1; ; reading++) {
    const before = await allFiles(dir);
    const found = await verifyOnce(dir, options.heads ?? []).then(
      (report) => ({ report }),
      (error: unknown) => ({ error }),
    );
    // A writer may remove what its policy keeps no longer while we read, and then what we found is of two moments.
    const after = new Set(await allFiles(dir));
    const isTorn = before.some((path) => !after.has(path));
    if (isTorn && reading < maxReadings) continue;
    if ("error" in found) throw found.error;
    return found.report;
  }
}

async function allFiles(dir: string): Promise<string[]> {
  const chains = await listChains(dir);
  const files = await Promise.all(
    chains.map(async (chain) => (await listFiles(dir, chain)).map((number) => filePath(dir, chain, number))),
  );
  return files.flat();
}

async function verifyOnce(dir: string, heads: readonly ChainHead[]): Promise<AuditReport> {
  const chains: ChainReport[] = [];
  const names = await listChains(dir);
  for (const chain of names) {
    const isLive = await isChainLive(dir, chain);
    chains.push(await verifyChain(dir, chain, { wanted: heads.filter((head) => head.chain === chain), isLive }));
  }
  const problems = chains.flatMap((report) => report.problems);
  for (const head of heads.filter(({ chain }) => !names.includes(chain))) {
    problems.push(chainProblem(head.chain, `is missing; the head that was given names its line ${head.seq}`));
  }
  problems.push(...(await witnessProblems(dir, chains)));
  return { isSound: problems.length === 0, chains, problems };
}

/** What one chain saw of another when it was opened must still be there. */
async function witnessProblems(dir: string, chains: readonly ChainReport[]): Promise<AuditProblem[]> {
  const problems: AuditProblem[] = [];
  const known = new Map(chains.map((report) => [report.chain, report]));
  const claims = chains.flatMap((report) => report.witnessed.map((head) => ({ head, by: report.chain })));
  for (const { head, by } of claims) {
    const report = known.get(head.chain);
    if (!report) problems.push(chainProblem(head.chain, `is missing; chain ${by} saw its line ${head.seq}`));
    else if (head.seq > report.prunedThrough && !(await hasLine(dir, head))) {
      problems.push(chainProblem(head.chain, `has no line ${head.seq} as chain ${by} saw it`));
    }
  }
  return problems;
}

async function hasLine(dir: string, { chain, seq, hash }: ChainHead): Promise<boolean> {
  if (seq === 0) return hash === genesisHash(chain);
  // newest first: what was seen is rarely old
  for (const number of (await listFiles(dir, chain)).reverse()) {
    for await (const { bytes } of readLines(filePath(dir, chain, number))) {
      if (!bytes.subarray(0, 32).toString("latin1").startsWith(`{"v":1,"seq":${seq},`)) continue;
      const line = openLine(bytes);
      // A torn part may hold a line of the same number.
      if (!("problem" in line) && line.hash === hash) return true;
    }
  }
  return false;
}

function chainProblem(chain: string, message: string): AuditProblem {
  return { chain, file: undefined, line: undefined, message };
}
