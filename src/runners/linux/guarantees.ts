import type { Guarantee } from "../runner.ts";

/** Guarantees of every runner that uses Linux namespaces. */
export const namespaceGuarantees: readonly Guarantee[] = [
  "no-network",
  "private-filesystem",
  "private-processes",
  "empty-environment",
  "crash-recovery",
];
