/** What a cell uses, as far as its runner can measure it. */
export interface CellUsage {
  readonly memoryBytes: number | undefined;
  readonly peakMemoryBytes: number | undefined;
  readonly cpuMs: number | undefined;
  /** how many processes the OOM killer has killed in this cell so far */
  readonly oomKills: number;
}
