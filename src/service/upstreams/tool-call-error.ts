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

/** Why a call of a tool has no result. The program in the cell gets the message as an exception. */
export class ToolCallError extends Error {
  override readonly name = "ToolCallError";
  readonly status: Exclude<ToolCallStatus, "ok">;

  constructor(status: Exclude<ToolCallStatus, "ok">, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.status = status;
  }
}
