import { CodecellError, messageOf } from "../errors.ts";

/** The error for a wait that was aborted. */
export function aborted({ reason }: AbortSignal): CodecellError {
  return new CodecellError("aborted", `aborted while waiting: ${messageOf(reason)}`, { cause: reason });
}
