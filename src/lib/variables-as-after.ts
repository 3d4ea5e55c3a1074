/** What a recovery restored, by the session's number of a run. */
export function variablesAsAfter(run: number): string {
  return `variables are as they were ${run > 0 ? `after run ${run}` : "before the first run"}`;
}
