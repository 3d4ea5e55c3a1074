import type { WireNetworkEntry } from "../../../../src/service/wire/network.ts";

/** `GET …/network` */
export interface NetworkLog {
  readonly enabled: boolean;
  readonly entries: readonly WireNetworkEntry[];
  readonly dropped: number;
}

export interface NetworkFilter {
  readonly search: string;
  readonly verdict: "" | "allowed" | "denied";
}

/** Pure: the entries that the filter lets through, newest first. */
export function shownEntries(
  entries: readonly WireNetworkEntry[],
  { search, verdict }: NetworkFilter,
): WireNetworkEntry[] {
  const wanted = search.trim().toLowerCase();
  return entries
    .filter((entry) => verdict === "" || entry.verdict === verdict)
    .filter(({ host, port, rule, reason, run }) =>
      `${host}:${port} ${rule} ${reason ?? ""} run ${run}`.toLowerCase().includes(wanted),
    )
    .reverse();
}
