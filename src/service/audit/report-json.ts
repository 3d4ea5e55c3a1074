import { namespaceOfChain } from "../../audit/chain/chain-files.ts";
import type { AuditReport } from "../../audit/verify.ts";

/** What a verification of the audit found, for programs. */
export function reportJson({ isSound, chains, problems }: AuditReport): object {
  return {
    sound: isSound && chains.length > 0,
    chains: chains.map((chain) => ({
      ...{ chain: chain.chain, files: chain.files, lines: chain.lines, live: chain.isLive },
      ...{ first_time: chain.firstTime ?? null, last_time: chain.lastTime ?? null },
      ...{ lost_events: chain.lostEvents, pruned_through: chain.prunedThrough },
      ...{ torn_parts: chain.tornParts, torn_bytes: chain.tornBytes, torn_end_bytes: chain.tornEndBytes },
      head: chain.head ? `${chain.chain}:${chain.head.seq}:${chain.head.hash}` : null,
    })),
    problems: problems.map(({ chain, file, line, message }) => ({
      chain,
      file: file ?? null,
      line: line ?? null,
      message,
    })),
  };
}

/** The same for a tenant. Of a chain that others write to as well, it learns only whether it is sound. */
export function tenantReportJson(report: AuditReport, namespace: string): object {
  const isOwn = ({ chain }: { readonly chain: string }) => namespaceOfChain(chain) === namespace;
  const shared = report.problems.filter((problem) => !isOwn(problem)).length;
  const message = "a chain that holds events of several tenants was changed; ask the operator of the service";
  const withheld = shared === 0 ? [] : [{ chain: "shared", file: undefined, line: undefined, message }];
  const own = { ...report, chains: report.chains.filter(isOwn) };
  const json = reportJson({ ...own, problems: [...report.problems.filter(isOwn), ...withheld] });
  return { ...json, sound: report.isSound && report.chains.length > 0 };
}
