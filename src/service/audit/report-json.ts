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
