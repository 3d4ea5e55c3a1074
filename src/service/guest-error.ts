import { CodecellError, type CodecellErrorCode } from "../lib/errors.ts";
import { diskFailure } from "../lib/files/disk-failure.ts";

/** Replaces messages that come from the system, an engine or the operator's policy: they name paths of the host. */
const withheldTexts: Readonly<Partial<Record<CodecellErrorCode, string>>> = {
  policy_refused: "this service cannot enforce its policy at the moment",
  secret_unavailable: "a secret in this service's policy has no value at the moment",
  audit_failed: "the audit cannot be written, and this service runs nothing without an audit",
  disk_failed: "this service cannot write to its disk at the moment",
  runner_unavailable: "the sandbox that this service's policy requires is unavailable",
  image_failed: "the container image could not be built",
  cell_start_failed: "the cell did not start",
};
/** A guest knows its sessions without their namespace. */
const namespaces = /\b(session )ns-[0-9a-f]{12}\./g;
const laterHint = "try again later; the service's log has the reason";

/**
 * A failure as it is told to a caller who does not run this service. Unexpected errors and messages of the system may name
 * files of the host or of other tenants, so they are replaced.
 */
export function guestError(thrown: unknown): CodecellError {
  const error = diskFailure(thrown) ?? thrown;
  if (!(error instanceof CodecellError) || error.code === "internal") {
    return new CodecellError("internal", "a bug in codecell", { hint: "the service's log has the reason" });
  }
  const { code, hint, details } = error;
  const message = error.message.replace(namespaces, "$1");
  const withheld = withheldTexts[code];
  if (withheld !== undefined) return new CodecellError(code, withheld, { hint: laterHint });
  return new CodecellError(code, message, { details, ...(hint === undefined ? {} : { hint }) });
}

/** Whether `guestError` leaves something out; then the log must have it. */
export function isWithheld(error: unknown): boolean {
  return !(error instanceof CodecellError) || error.code === "internal" || withheldTexts[error.code] !== undefined;
}
