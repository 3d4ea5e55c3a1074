import { filePath, listChains, listFiles } from "./chain-files.ts";
import { isChainLive } from "./chain-lock.ts";
import type { AuditProblem, ChainReport } from "./chain-reader.ts";
import type { ChainHead } from "./event.ts";
import { verifyChain } from "./verify-chain.ts";
import { claimsByChain, claimsNotIn } from "./witness-claims.ts";

/** The chains of an audit directory and all problems. */
export interface AuditReport {
  readonly isSound: boolean;
  readonly chains: readonly ChainReport[];
  readonly problems: readonly AuditProblem[];
}

/** How often to start again because files were removed meanwhile. The oldest go first, so a failed attempt is short. */
const maxReadings = 200;

/**
 * Finds every edited, removed, reordered or repeated line, offline. That the last lines of a chain or a whole chain are missing
 * is found only through a record of them: its head file, other chains, or the heads given here.
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
    // A writer may prune files while we read. The result would then mix two states, so start again.
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

/** Lines that one chain witnessed in another must still exist. */
async function witnessProblems(dir: string, chains: readonly ChainReport[]): Promise<AuditProblem[]> {
  const problems: AuditProblem[] = [];
  const known = new Map(chains.map((report) => [report.chain, report]));
  for (const [chain, claims] of claimsByChain(chains)) {
    const report = known.get(chain);
    if (!report) {
      const last = claims.reduce((a, b) => (b.seq > a.seq ? b : a));
      problems.push(chainProblem(chain, `is missing; chain ${last.by} saw its line ${last.seq}`));
      continue;
    }
    const missing = await claimsNotIn(
      dir,
      chain,
      claims.filter(({ seq }) => seq > report.prunedThrough),
    );
    const [first] = missing; // one problem is enough
    if (first) problems.push(chainProblem(chain, `has no line ${first.seq} as chain ${first.by} saw it`));
  }
  return problems;
}

function chainProblem(chain: string, message: string): AuditProblem {
  return { chain, file: undefined, line: undefined, message };
}
