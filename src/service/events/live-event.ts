/** An event that only live readers get. A later one of the same type and session replaces it. */
export interface LiveEvent {
  /** `statistics` is for readers that may see the metrics */
  readonly type: "session.changed" | "session.moved" | "usage" | "statistics";
  /** the session with its namespace; undefined: about the service */
  readonly session?: string;
  readonly atMs: number;
  readonly fields: object;
}
