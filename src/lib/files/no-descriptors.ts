import { CodecellError } from "../errors.ts";

/** Throws what a failed start means, if the process or the machine has no file descriptors left; any other error as it is. */
export function explainNoDescriptors(error: unknown): never {
  const code = descriptorCode(error);
  if (code === undefined) throw error;
  const whose = code === "EMFILE" ? "this process" : "this machine";
  throw new CodecellError("cell_start_failed", `${whose} has no file descriptors left for another session`, {
    hint: "close sessions, or raise the limit of open files (ulimit -n)",
    cause: error,
  });
}

/** Whether nothing can be opened now, which says nothing about what was to be opened. */
export function isOutOfDescriptors(error: unknown): boolean {
  return descriptorCode(error) !== undefined;
}

function descriptorCode(error: unknown): "EMFILE" | "ENFILE" | undefined {
  const code = codeOf(error) ?? (error instanceof Error ? codeOf(error.cause) : undefined);
  return code === "EMFILE" || code === "ENFILE" ? code : undefined;
}

/** The code of the operating system, also if codecell's own error is about what could not be opened. */
function codeOf(error: unknown): unknown {
  return error instanceof Error && !(error instanceof CodecellError) && "code" in error ? error.code : undefined;
}
