import { canonicalJson } from "../hash.ts";
import type { PolicyFieldName } from "../rules.ts";
import type { Policy, PolicyPatch } from "../schema.ts";
import { packagesRule } from "./packages-rule.ts";
import * as orders from "./rule-orders.ts";

/** How an override changes one rule, and when a new value permits no more than the old one. */
export interface MergeRule {
  /** whether the patch has this rule */
  isIn(patch: PolicyPatch): boolean;
  /** the policy with this rule, and no other, taken from the patch */
  apply(policy: Policy, patch: PolicyPatch): Policy;
  /** whether the rule in `to` permits nothing that it does not permit in `from` */
  narrows(to: Policy, from: Policy): boolean;
  /** whether a host program may change `from` to `to` under this ceiling */
  allowsHost(to: Policy, from: Policy, ceiling: PolicyPatch): boolean;
  /** `policy` with this rule reduced to what it and `other` both permit; where nothing is, as in `other`, which is the limit */
  meet(policy: Policy, other: Policy): Policy;
  /** `policy` with this rule widened to what it or `other` permits; absent: no one value says that */
  join?(policy: Policy, other: Policy): Policy;
}

type SectionName = Exclude<keyof Policy, "version" | "env" | "overrides">;

/** What "wider" means, a row per rule. */
export const mergeRules: Readonly<Record<PolicyFieldName, MergeRule>> = {
  "isolation.runner": rule("isolation", "runner", orders.runnerChoice),
  "isolation.minimum": rule("isolation", "minimum", orders.atLeastThisLevel),
  "fs.workspace": rule("fs", "workspace", orders.directory),
  "fs.deps": rule("fs", "deps", orders.directory),
  "fs.mounts": rule("fs", "mounts", orders.mounts),
  "fs.deny": rule("fs", "deny", orders.denyGlobs),
  "fs.load": rule("fs", "load", orders.loadable),
  "net.enabled": rule("net", "enabled", orders.onlyOff),
  "net.allowlist": rule("net", "allowlist", orders.hosts),
  "net.deny": rule("net", "deny", orders.more),
  "net.inspect": rule("net", "inspect", orders.inspected),
  "net.rules": rule("net", "rules", orders.requests),
  "net.secrets": rule("net", "secrets", orders.secrets),
  "net.connections": rule("net", "connections", orders.atMost),
  "net.requests": rule("net", "requests", orders.atMost),
  "net.sent": rule("net", "sentBytes", orders.atMost),
  "net.received": rule("net", "receivedBytes", orders.atMost),
  "proc.timeout": rule("proc", "timeoutMs", orders.atMost),
  "proc.cpus": rule("proc", "cpus", orders.atMost),
  "proc.memory": rule("proc", "memoryBytes", orders.atMost),
  "proc.pids": rule("proc", "pids", orders.atMost),
  "proc.files": rule("proc", "files", orders.atMost),
  "proc.disk": rule("proc", "diskBytes", orders.atMost),
  "proc.exactDisk": rule("proc", "exactDisk", orders.onlyOn),
  "proc.output": rule("proc", "outputBytes", orders.atMost),
  "proc.background": rule("proc", "background", orders.onlyOff),
  env: field<Policy["env"]>({
    patched: (patch) => patch.env,
    read: (policy) => policy.env,
    write: (policy, env) => ({ ...policy, env }),
    order: orders.environment,
  }),
  "session.recovery": rule("session", "recovery", orders.recovery),
  "session.idle": rule("session", "idleMs", orders.atMost),
  "session.lifetime": rule("session", "lifetimeMs", orders.atMost),
  "session.limit": rule("session", "limit", orders.atMost),
  "session.persist": rule("session", "persist", orders.onlyOff),
  "session.checkpoints": rule("session", "checkpoints", orders.atMost),
  "session.undo": rule("session", "undo", orders.atMost),
  "session.pool": rule("session", "pool", orders.atMost),
  "kernel.preload": rule("kernel", "preload", orders.fewer),
  "kernel.python": rule("kernel", "python", orders.samePathOrNone),
  "kernel.image": rule("kernel", "image", orders.samePathOrNone),
  "kernel.packages": packagesRule,
  "llm.models": rule("llm", "models", orders.models),
  "llm.calls": rule("llm", "calls", orders.atMost),
  "llm.tokens": rule("llm", "tokens", orders.atMost),
  "llm.usd": rule("llm", "usd", orders.usd),
  "llm.depth": rule("llm", "depth", orders.atMost),
  "llm.concurrency": rule("llm", "concurrency", orders.atMost),
  "llm.promptChars": rule("llm", "promptChars", orders.atMost),
  "llm.callTimeout": rule("llm", "callTimeoutMs", orders.atMost),
  "llm.timeout": rule("llm", "timeoutMs", orders.atMost),
  "tools.allow": rule("tools", "allow", orders.tools),
  "tools.calls": rule("tools", "calls", orders.atMost),
  "tools.timeout": rule("tools", "timeoutMs", orders.atMost),
  "tools.arguments": rule("tools", "argumentsBytes", orders.atMost),
  "tools.result": rule("tools", "resultBytes", orders.atMost),
  "audit.enabled": rule("audit", "enabled", orders.onlyOn),
  "audit.code": rule("audit", "code", orders.auditedCode),
  "audit.durable": rule("audit", "durable", orders.onlyOn),
  "audit.keep": rule("audit", "keepBytes", orders.atLeast),
  "audit.age": rule("audit", "keepMs", orders.atLeast),
};

function rule<Section extends SectionName, Key extends keyof Policy[Section]>(
  section: Section,
  key: Key,
  order: orders.Order<Policy[Section][Key]>,
): MergeRule {
  type Value = Policy[Section][Key];
  return field<Value>({
    patched: (patch) => (patch[section] as Partial<Record<Key, Value | null>> | undefined)?.[key],
    read: (policy) => policy[section][key],
    write: (policy, value) => ({ ...policy, [section]: { ...policy[section], [key]: value } }),
    order,
  });
}

function field<Value>(options: {
  /** undefined: the patch does not have the rule; null: it removes the value */
  patched(patch: PolicyPatch): Value | null | undefined;
  read(policy: Policy): Value;
  write(policy: Policy, value: Value): Policy;
  order: orders.Order<Value>;
}): MergeRule {
  const { patched, read, write, order } = options;
  const { join, meet = (value, other) => (order.narrows(value, other) ? value : other) } = order;
  return {
    isIn: (patch) => patched(patch) !== undefined,
    apply: (policy, patch) => write(policy, (patched(patch) ?? undefined) as Value),
    narrows: (to, from) => isSame(read(to), read(from)) || order.narrows(read(to), read(from)),
    allowsHost: (to, from, patch) => {
      const [wanted, own, ceiling] = [read(to), read(from), patched(patch)];
      if (order.narrows(wanted, own) || order.free?.(wanted, own)) return true;
      if (ceiling === undefined || ceiling === null) return false;
      const limit = order.join?.(own, ceiling) ?? ceiling;
      return order.narrows(wanted, limit) || (order.under?.(wanted, ceiling, own) ?? false);
    },
    meet: (policy, other) => write(policy, meet(read(policy), read(other))),
    ...(join === undefined ? {} : { join: (policy, other) => write(policy, join(read(policy), read(other))) }),
  };
}

function isSame(a: unknown, b: unknown): boolean {
  return canonicalJson({ a }) === canonicalJson({ a: b });
}
