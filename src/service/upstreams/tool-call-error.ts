/** How a call of a tool ended, for the audit. */
export type ToolCallStatus =
  | "ok"
  /** the tool itself failed */
  | "error"
  /** the policy or a limit stopped it */
  | "refused"
  | "timeout"
  /** the server is not there, or broke the protocol */
  | "unavailable"
  | "cancelled";

/** What a program can catch: names that Python has stand for its own exceptions too. */
const names = {
  error: "ToolError",
  refused: "PermissionError",
  timeout: "TimeoutError",
  unavailable: "ServerUnavailable",
  cancelled: "Cancelled",
} as const satisfies Record<Exclude<ToolCallStatus, "ok">, string>;

/** Why a call of a tool has no result. The program in the cell gets the name and the message as an exception. */
export class ToolCallError extends Error {
  readonly status: Exclude<ToolCallStatus, "ok">;

  constructor(status: Exclude<ToolCallStatus, "ok">, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = names[status];
    this.status = status;
  }
}
