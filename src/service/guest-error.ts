import { CodecellError, type CodecellErrorCode } from "../lib/errors.ts";
import { diskFailure } from "../lib/files/disk-failure.ts";

/** What is told of failures whose own words are those of the system, of an engine or of the operator's policy: mounts, files of secrets. */
const withheldTexts: Readonly<Partial<Record<CodecellErrorCode, string>>> = {
  policy_refused: "the policy of this service asks for something that it does not have now",
  secret_unavailable: "a secret that the policy of this service names has no value now",
  audit_failed: "the audit cannot be written, and nothing runs here that is not written down",
  disk_failed: "what this service keeps cannot be written now",
  runner_unavailable: "the isolation that this service's policy asks for is not available now",
  image_failed: "the image of the cells could not be made",
  cell_start_failed: "the cell did not start",
};
/** A guest knows its sessions without the namespace that they have among those of others. */
const namespaces = /\b(session )ns-[0-9a-f]{12}\./g;
const laterHint = "try again later; the log of the service says why";

/**
 * A failure as somebody hears of it who does not run this service. What codecell did not foresee, where it writes its audit, and
 * what the system said to it name files of the host, and of other tenants.
 */
export function guestError(thrown: unknown): CodecellError {
  const error = diskFailure(thrown) ?? thrown;
  if (!(error instanceof CodecellError) || error.code === "internal") {
    return new CodecellError("internal", "a fault of codecell", { hint: "the log of the service says more" });
  }
  const { code, hint, details } = error;
  const message = error.message.replace(namespaces, "$1");
  const withheld = withheldTexts[code];
  if (withheld !== undefined) return new CodecellError(code, withheld, { hint: laterHint });
  return new CodecellError(code, message, { details, ...(hint === undefined ? {} : { hint }) });
}

/** Whether a guest hears less of it than there is to say: then a log has to have it. */
export function isWithheld(error: unknown): boolean {
  return !(error instanceof CodecellError) || error.code === "internal" || withheldTexts[error.code] !== undefined;
}
