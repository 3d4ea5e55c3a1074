/**
 * What enforces a rule: the OS, the language runtime around the code, the egress proxy, a watchdog, or codecell's own
 * process, for actions that only the host performs.
 */
export type EnforcedBy =
  | "os"
  | "runtime"
  | "proxy"
  | "supervisor watchdog"
  | "host watchdog"
  | "host"
  /** not enforced in this call; `how` says why */
  | "nobody";

/** The row for `fs.load`. It is the same in every runner, because the host reads the file. */
export const loadedByHost: { readonly by: EnforcedBy; readonly how: string } = {
  by: "host",
  how: "the real path is checked against fs.load and fs.deny before the file is read",
};

/** One rule of the policy and what enforces it. */
export interface EnforcedRule {
  /** path as written in the policy file, such as `proc.memory` */
  readonly rule: string;
  /** the value in force, in the format of the policy file */
  readonly value: string;
  readonly by: EnforcedBy;
  /** the mechanism, such as `cgroup v1 memory.limit_in_bytes` */
  readonly how: string;
}

/** One rule that this runner cannot enforce on this machine. */
export interface RefusedRule {
  readonly rule: string;
  readonly value: string;
  /** why it is refused */
  readonly reason: string;
  readonly hint: string;
}

/** How a runner would enforce a policy. Every rule is in exactly one of the two lists. */
export interface EnforcementPlan {
  readonly rules: readonly EnforcedRule[];
  readonly refused: readonly RefusedRule[];
  /** what a reader should know beyond the rules, such as attacks that are not contained */
  readonly notes: readonly string[];
}

/** What was enforced in a cell that started. */
export interface EnforcementReceipt {
  readonly runner: string;
  readonly runnerVersion: string;
  /** sha256 of the policy in force */
  readonly policyHash: string;
  readonly rules: readonly EnforcedRule[];
  readonly notes: readonly string[];
  /** how connections reach the proxy, if the policy enables the network */
  readonly network?: NetworkCarrier;
}

/** How connections of a cell's programs reach the proxy. */
export interface NetworkCarrier {
  /** `listener`: the proxy accepts them on the cell's own socket; `streams`: they share the cell's channel */
  readonly carrier: "listener" | "streams";
  /** why the faster carrier is not used, if it is available */
  readonly reason?: string;
}
