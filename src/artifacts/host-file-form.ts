/** How a file is decoded: to a string, lines, a value, a list of values, a list of objects, or bytes. */
export const hostFileForms = ["text", "lines", "json", "jsonl", "csv", "bytes"] as const;
/** One of `hostFileForms`. */
export type HostFileForm = (typeof hostFileForms)[number];
