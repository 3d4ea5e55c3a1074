import { CodecellError } from "../lib/errors.ts";

/**
 * A failure as somebody hears of it who does not run this service. What codecell did not foresee, where it writes its audit, and
 * what the system said to it name files of the host, and of other tenants.
 */
export function guestError(error: unknown): CodecellError {
  if (!(error instanceof CodecellError) || error.code === "internal") {
    return new CodecellError("internal", "a fault of codecell", { hint: "the log of the service says more" });
  }
  const { code, message, hint, details } = error;
  if (code === "audit_failed") {
    return new CodecellError(code, "the audit cannot be written, and nothing runs here that is not written down", {
      hint: "try again later; the log of the service says why",
    });
  }
  return new CodecellError(code, message, { details, ...(hint === undefined ? {} : { hint }) });
}

/** Whether a guest hears less of it than there is to say: then a log has to have it. */
export function isWithheld(error: unknown): boolean {
  return !(error instanceof CodecellError) || error.code === "internal" || error.code === "audit_failed";
}
