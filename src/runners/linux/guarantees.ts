import type { Guarantee } from "../runner.ts";

/** What holds wherever namespaces of Linux are around our supervisor. */
export const namespaceGuarantees: readonly Guarantee[] = [
  "no-network",
  "private-filesystem",
  "private-processes",
  "empty-environment",
  "crash-recovery",
];
