/** What the guest's supervisor tells its runner, as a line of JSON on standard error. Other lines there are for people. */
export interface GuestReport {
  /** the snapshot did not load: the interpreter starts without it */
  readonly report: "snapshot_refused";
  readonly reason: string;
}

const maxReasonCharacters = 1000;

/** The line of a report, short enough that it is written as a whole. */
export function reportLine({ report, reason }: GuestReport): string {
  return `${JSON.stringify({ report, reason: reason.slice(0, maxReasonCharacters) })}\n`;
}
