/** What a cell uses, as far as its runner can measure it. */
export interface CellUsage {
  readonly memoryBytes: number | undefined;
  readonly peakMemoryBytes: number | undefined;
  readonly cpuMs: number | undefined;
  /** its processes and threads, as proc.pids counts them; absent: unknown */
  readonly processes?: number | undefined;
  /** size of its files, as it was last measured; absent: unknown */
  readonly diskBytes?: number | undefined;
  /** how many processes the OOM killer has killed in this cell so far */
  readonly oomKills: number;
}
