/** The streams of a run that are kept in full. */
export type KeptStream = "stdout" | "stderr" | "value" | "traceback";
export const keptStreams: readonly KeptStream[] = ["stdout", "stderr", "value", "traceback"];
