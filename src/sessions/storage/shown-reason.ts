import { CodecellError, messageOf } from "../../lib/errors.ts";

/** Tenants read notes: the message of a store that cannot be reached names hosts of the operator. */
export function shownReason(error: unknown): string {
  const isOut = error instanceof CodecellError && error.code === "service_unavailable";
  return isOut ? "the store of sessions cannot be reached at the moment" : messageOf(error);
}
