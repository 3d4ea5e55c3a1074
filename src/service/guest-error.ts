import { CodecellError, type CodecellErrorCode } from "../lib/errors.ts";
import { diskFailure } from "../lib/files/disk-failure.ts";

/** Replacements for messages of the OS, an engine or the operator's policy, because those contain host paths. */
const withheldTexts: Readonly<Partial<Record<CodecellErrorCode, string>>> = {
  policy_refused: "this service cannot enforce its policy at the moment",
  secret_unavailable: "a secret in this service's policy has no value at the moment",
  audit_failed: "the audit cannot be written, and this service runs nothing without an audit",
  disk_failed: "this service cannot write to its disk at the moment",
  runner_unavailable: "the sandbox that this service's policy requires is unavailable",
  image_failed: "the container image could not be built",
  packages_failed: "the packages that this service's policy names could not be prepared",
  cell_start_failed: "the cell did not start",
};
/** Guests see session ids without the namespace. */
const namespaces = /\b(session )ns-[0-9a-f]{12}\./g;
const laterHint = "try again later; the service's log has the reason";

/**
 * The error to show to a caller who does not run this service. Unexpected errors and messages of the OS may contain paths
 * of the host or of other tenants, so they are replaced.
 */
export function guestError(thrown: unknown): CodecellError {
  const error = diskFailure(thrown) ?? thrown;
  if (!(error instanceof CodecellError) || error.code === "internal") {
    return new CodecellError("internal", "a bug in codecell", { hint: "the service's log has the reason" });
  }
  const { code, hint, details } = error;
  const message = error.message.replace(namespaces, "$1");
  const withheld = isAboutDatabase(error)
    ? "this service cannot reach its database at the moment"
    : withheldTexts[code];
  if (withheld !== undefined) return new CodecellError(code, withheld, { hint: laterHint });
  return new CodecellError(code, message, { details, ...(hint === undefined ? {} : { hint }) });
}

/** Whether `guestError` hides the original message. If so, the caller must log it. */
export function isWithheld(error: unknown): boolean {
  return (
    !(error instanceof CodecellError) ||
    error.code === "internal" ||
    withheldTexts[error.code] !== undefined ||
    isAboutDatabase(error)
  );
}

/** Its message names the host of the database. */
function isAboutDatabase({ code, details }: CodecellError): boolean {
  return code === "service_unavailable" && details.reason === "database";
}
