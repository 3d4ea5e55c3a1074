import { filePath, listChains, listFiles, namespaceOfChain } from "./chain/chain-files.ts";
import { isChainLive } from "./chain/chain-lock.ts";
import type { AuditProblem, ChainReport } from "./chain/chain-reader.ts";
import { verifyChain } from "./chain/verify-chain.ts";
import type { ChainHead } from "./event.ts";
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
  return verifyUntorn(dir, () => true, options.heads ?? []);
}

async function verifyUntorn(
  dir: string,
  isRead: (chain: string) => boolean,
  heads: readonly ChainHead[],
): Promise<AuditReport> {
  for (let reading = 1; ; reading++) {
    const before = await allFiles(dir, isRead);
    const found = await verifyOnce(dir, isRead, heads).then(
      (report) => ({ report }),
      (error: unknown) => ({ error }),
    );
    // A writer may prune files while we read. The result would then mix two states, so start again.
    const after = new Set(await allFiles(dir, isRead));
    const isTorn = before.some((path) => !after.has(path));
    if (isTorn && reading < maxReadings) continue;
    if ("error" in found) throw found.error;
    return found.report;
  }
}

/**
 * The same for the chains of one tenant, and for one more chain that holds some of its events. Other chains are not read: they
 * belong to others, and reading all of them would take as long as everybody's history.
 */
export async function verifyTenant(dir: string, namespace: string, alsoIn?: string): Promise<AuditReport> {
  const isOwn = (chain: string) => namespaceOfChain(chain) === namespace || chain === alsoIn;
  return verifyUntorn(dir, isOwn, []);
}

async function allFiles(dir: string, isRead: (chain: string) => boolean): Promise<string[]> {
  const chains = (await listChains(dir)).filter(isRead);
  const files = await Promise.all(
    chains.map(async (chain) => (await listFiles(dir, chain)).map((number) => filePath(dir, chain, number))),
  );
  return files.flat();
}

async function verifyOnce(
  dir: string,
  isRead: (chain: string) => boolean,
  heads: readonly ChainHead[],
): Promise<AuditReport> {
  const chains: ChainReport[] = [];
  const names = (await listChains(dir)).filter(isRead);
  for (const chain of names) {
    const isLive = await isChainLive(dir, chain);
    chains.push(await verifyChain(dir, chain, { wanted: heads.filter((head) => head.chain === chain), isLive }));
  }
  const problems = chains.flatMap((report) => report.problems);
  for (const head of heads.filter(({ chain }) => !names.includes(chain))) {
    problems.push(chainProblem(head.chain, `is missing; the head that was given names its line ${head.seq}`));
  }
  problems.push(...(await witnessProblems(dir, chains, isRead)));
  return { isSound: problems.length === 0, chains, problems };
}

/** Lines that one chain witnessed in another must still exist. */
async function witnessProblems(
  dir: string,
  chains: readonly ChainReport[],
  isRead: (chain: string) => boolean,
): Promise<AuditProblem[]> {
  const problems: AuditProblem[] = [];
  const known = new Map(chains.map((report) => [report.chain, report]));
  for (const [chain, claims] of claimsByChain(chains)) {
    if (!isRead(chain)) continue;
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
