/**
 * What enforces a rule: the operating system, the language runtime around the code, the egress proxy, a watchdog, or
 * codecell's own process, which does the thing itself because nothing in the cell can.
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

/** How every runner answers for `fs.load`: the host reads, so the kind of cell makes no difference. */
export const loadedByHost: { readonly by: EnforcedBy; readonly how: string } = {
  by: "host",
  how: "the real path is checked against fs.load and fs.deny before the file is read",
};

/** One rule of the policy and what holds it. */
export interface EnforcedRule {
  /** path as written in the policy file, such as `proc.memory` */
  readonly rule: string;
  /** the value in force, as a person writes it */
  readonly value: string;
  readonly by: EnforcedBy;
  /** the mechanism, such as `cgroup v1 memory.limit_in_bytes` */
  readonly how: string;
}

/** One rule that this runner cannot hold on this machine. */
export interface RefusedRule {
  readonly rule: string;
  readonly value: string;
  /** why, and what would hold it */
  readonly reason: string;
  readonly hint: string;
}

/** What a runner would do with a policy: every rule is in exactly one of the two lists. */
export interface EnforcementPlan {
  readonly rules: readonly EnforcedRule[];
  readonly refused: readonly RefusedRule[];
  /** what a reader should know beyond the rules, such as what stays possible on this tier */
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
  /** how connections travel to the proxy, where the policy gives a network */
  readonly network?: NetworkCarrier;
}

/** How connections of a cell's programs reach the proxy. */
export interface NetworkCarrier {
  /** `listener`: the proxy accepts them on the cell's own socket; `streams`: they share the cell's channel */
  readonly carrier: "listener" | "streams";
  /** why it is not the faster one, where that is possible */
  readonly reason?: string;
}
