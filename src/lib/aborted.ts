import { CodecellError, messageOf } from "./errors.ts";

/** The error for whoever waited and was told to stop. */
export function aborted({ reason }: AbortSignal): CodecellError {
  return new CodecellError("aborted", `aborted while waiting: ${messageOf(reason)}`, { cause: reason });
}
