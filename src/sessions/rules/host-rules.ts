import { type Audit, silentAudit } from "../../audit/audit.ts";
import { AuditLog } from "../../audit/log.ts";
import { TenantLogs } from "../../audit/tenant-logs.ts";
import { type HostRuleName, isHostRule, policyRules } from "../../policy/rules.ts";
import type { Policy } from "../../policy/schema.ts";
import type { EnforcedRule, EnforcementPlan } from "../../runners/receipt.ts";
import type { SandboxRunner } from "../../runners/runner.ts";
import type { StorageMedium } from "../storage/session-storage.ts";
import { type HostCalls, heldForModels, heldForTools, type LlmRuleName, type ToolRuleName } from "./host-call-rules.ts";

/** What the host provides in this call. */
export interface HostFacts {
  /** `own`: codecell writes the audit; `given`: the program passed its own; `none`: nothing is recorded */
  readonly audit: "own" | "given" | "none";
  /** files of a saved session are restored with it; otherwise they are deleted with the cell */
  readonly keepsFiles: boolean;
  /** what keeps saved sessions; absent: files */
  readonly medium?: StorageMedium | undefined;
  /** absent: code in the cell can reach nothing through the host */
  readonly hostCalls?: Partial<HostCalls> | undefined;
}

const nothing: HostCalls = { models: false, tools: false };

type Holding = Pick<EnforcedRule, "by" | "how">;

const byHost = (how: string): Holding => ({ by: "host", how });
const byNobody = (how: string): Holding => ({ by: "nobody", how });

/** One row per rule that codecell's host process enforces. */
const table: Readonly<Record<HostRuleName, (policy: Policy, facts: HostFacts) => Holding>> = {
  "session.idle": () => byHost("a timer for each session"),
  "session.lifetime": () => byHost("a timer for each session"),
  "session.limit": () => byHost("sessions of this process are counted; the next one is refused"),
  "session.persist": ({ session }, facts) =>
    byHost(session.persist ? keptWhere(facts) : "nothing is kept on disk after the session"),
  "session.pool": ({ session }) =>
    byHost(session.pool > 0 ? "cells of this policy only, each used once" : "no cell waits"),
  "llm.models": aboutModels("llm.models"),
  "llm.calls": aboutModels("llm.calls"),
  "llm.tokens": aboutModels("llm.tokens"),
  "llm.usd": aboutModels("llm.usd"),
  "llm.depth": aboutModels("llm.depth"),
  "llm.concurrency": aboutModels("llm.concurrency"),
  "llm.promptChars": aboutModels("llm.promptChars"),
  "llm.callTimeout": aboutModels("llm.callTimeout"),
  "llm.timeout": aboutModels("llm.timeout"),
  "tools.allow": aboutTools("tools.allow"),
  "tools.calls": aboutTools("tools.calls"),
  "tools.timeout": aboutTools("tools.timeout"),
  "tools.arguments": aboutTools("tools.arguments"),
  "tools.result": aboutTools("tools.result"),
  "audit.enabled": (policy, facts) =>
    recorded(policy, facts, "hash-chained files of mode 0600", "the program's own audit gets every event"),
  "audit.code": (policy, facts) => {
    const what = policy.audit.code === "full" ? "text and sha256" : "sha256 alone";
    return recorded(policy, facts, what, what);
  },
  "audit.durable": (policy, facts) => {
    const how = policy.audit.durable
      ? "runs start and results are given after fdatasync"
      : "written within milliseconds";
    const given = policy.audit.durable ? "says that it is durable" : "decides when it writes";
    return recorded(policy, facts, how, `the program's own audit ${given}`);
  },
  "audit.keep": (policy, facts) => pruned(policy, facts),
  "audit.age": (policy, facts) => pruned(policy, facts),
};

const savedFiles = "files of the cell as at the last save";

function keptWhere({ medium = "files", keepsFiles }: HostFacts): string {
  if (medium === "postgresql") {
    const files = keepsFiles ? "files are in the state directory of this machine" : savedFiles;
    return `PostgreSQL: variables and history, acknowledged after the commit; ${files}`;
  }
  return `state directory of this user, files of mode 0600${keepsFiles ? "" : `: variables and history; ${savedFiles}`}`;
}

/** Pure: what enforces `session.*`, `llm.*`, `tools.*` and `audit.*` in this call. */
export function hostRules(policy: Policy, facts: HostFacts): EnforcedRule[] {
  return policyRules(policy).flatMap(({ rule, value }) =>
    isHostRule(rule) ? [{ rule, value, ...table[rule](policy, facts) }] : [],
  );
}

/** A runner's plan together with the rows of the host. */
export function planWithHost(
  plan: EnforcementPlan,
  policy: Policy,
  { takesWorkspace }: SandboxRunner,
): EnforcementPlan {
  const own = hostRules(policy, { audit: auditKind(policy, undefined), keepsFiles: takesWorkspace });
  return { ...plan, rules: inPolicyOrder(policy, [...plan.rules, ...own]) };
}

/** Rows of a runner and of the host together, in the order of the policy file. */
export function inPolicyOrder(policy: Policy, rows: readonly EnforcedRule[]): EnforcedRule[] {
  const byName = new Map(rows.map((row) => [row.rule, row]));
  return policyRules(policy).flatMap(({ rule }) => byName.get(rule) ?? []);
}

/** Whose audit this is. */
export function auditKind(policy: Policy, given: Audit | undefined): HostFacts["audit"] {
  if (!policy.audit.enabled || given === silentAudit) return "none";
  return given === undefined ||
    ((given instanceof AuditLog || given instanceof TenantLogs) && given.follows(policy.audit))
    ? "own"
    : "given";
}

function aboutModels(rule: LlmRuleName): (policy: Policy, facts: HostFacts) => Holding {
  return (policy, { hostCalls }) => byHost(heldForModels(rule, policy, { ...nothing, ...hostCalls }));
}

function aboutTools(rule: ToolRuleName): (policy: Policy, facts: HostFacts) => Holding {
  return (policy, { hostCalls }) => byHost(heldForTools(rule, policy, { ...nothing, ...hostCalls }));
}

function recorded({ audit }: Policy, facts: HostFacts, own: string, given: string): Holding {
  if (!audit.enabled) return byHost("nothing is recorded");
  if (facts.audit === "none") return byNobody("not enforced: this program turned the audit off");
  return byHost(facts.audit === "own" ? own : given);
}

function pruned(policy: Policy, facts: HostFacts): Holding {
  if (facts.audit === "given") return byNobody("not enforced: the program's own audit decides what it keeps");
  const how = "whole files of a chain, oldest first; the audit says which";
  return recorded(policy, facts, how, how);
}
