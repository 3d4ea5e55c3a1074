import { formatDuration, formatSize } from "./format-units.ts";
import { showHostPattern } from "./network/host-pattern.ts";
import { everyHost } from "./network/inspect.ts";
import { showSecret } from "./network/net-secrets.ts";
import { showRequestRule } from "./network/request-rule.ts";
import { showPackages } from "./package-rules.ts";
import { builtinDeny } from "./paths/builtin-deny.ts";
import type { Policy, PolicyInput } from "./schema.ts";

type Sections = Required<Omit<PolicyInput, "version" | "env" | "overrides">>;
type Keys<Section> = Section extends object ? Extract<keyof Section, string> : never;

/** Every rule as the file names it. Derived from the schema, so a table over it compiles only when it is complete. */
export type PolicyFieldName =
  | { [Section in keyof Sections]: `${Section}.${Keys<Sections[Section]>}` }[keyof Sections]
  | "env";

/** The rules that are enforced. `isolation.runner` only chooses the runner. */
export type RuleName = Exclude<PolicyFieldName, "isolation.runner">;

/** Rules that codecell enforces itself, outside the cells. Runners do not enforce them. */
export type HostRuleName =
  | Extract<RuleName, `llm.${string}` | `tools.${string}` | `audit.${string}`>
  | "session.idle"
  | "session.lifetime"
  | "session.limit"
  | "session.persist"
  | "session.pool";

/** Rules that a runner enforces. */
export type CellRuleName = Exclude<RuleName, HostRuleName>;

const show: Record<PolicyFieldName, (policy: Policy) => string> = {
  "isolation.runner": ({ isolation }) => isolation.runner,
  "isolation.minimum": ({ isolation }) => isolation.minimum,
  "fs.workspace": ({ fs }) => fs.workspace ?? "private",
  "fs.deps": ({ fs }) => fs.deps ?? "none",
  "fs.mounts": ({ fs }) => list(fs.mounts.map(({ source, target, mode }) => `${source} → ${target} (${mode})`)),
  "fs.deny": ({ fs }) => [`built-in (${builtinDeny.length})`, ...fs.deny].join(", "),
  "fs.load": ({ fs }) => list(fs.load),
  "net.enabled": ({ net }) => String(net.enabled),
  "net.allowlist": ({ net }) => list(net.allowlist.map(showHostPattern)),
  "net.deny": ({ net }) => list(net.deny.map(showHostPattern)),
  "net.inspect": ({ net }) => (net.inspect.includes(everyHost) ? "all" : list(net.inspect.map(showHostPattern))),
  "net.rules": ({ net }) => list(net.rules.map(showRequestRule)),
  // names and sources only: a policy does not contain the values
  "net.secrets": ({ net }) => list(Object.entries(net.secrets).map(showSecret)),
  "net.connections": ({ net }) => String(net.connections),
  "net.requests": ({ net }) => String(net.requests),
  "net.sent": ({ net }) => formatSize(net.sentBytes),
  "net.received": ({ net }) => formatSize(net.receivedBytes),
  "proc.timeout": ({ proc }) => formatDuration(proc.timeoutMs),
  "proc.cpus": ({ proc }) => String(proc.cpus),
  "proc.memory": ({ proc }) => formatSize(proc.memoryBytes),
  "proc.pids": ({ proc }) => String(proc.pids),
  "proc.files": ({ proc }) => String(proc.files),
  "proc.disk": ({ proc }) => formatSize(proc.diskBytes),
  "proc.exactDisk": ({ proc }) => String(proc.exactDisk),
  "proc.output": ({ proc }) => formatSize(proc.outputBytes),
  "proc.background": ({ proc }) => String(proc.background),
  // names only: a value may be a secret, and receipts are printed and stored
  env: ({ env }) => list(Object.keys(env)),
  "session.recovery": ({ session }) => session.recovery,
  "session.idle": ({ session }) => formatDuration(session.idleMs),
  "session.lifetime": ({ session }) => formatDuration(session.lifetimeMs),
  "session.limit": ({ session }) => String(session.limit),
  "session.persist": ({ session }) => String(session.persist),
  "session.checkpoints": ({ session }) => String(session.checkpoints),
  "session.undo": ({ session }) => String(session.undo),
  "session.pool": ({ session }) => String(session.pool),
  "kernel.preload": ({ kernel }) => list(kernel.preload),
  "kernel.python": ({ kernel }) => kernel.python ?? "best found",
  "kernel.image": ({ kernel }) => kernel.image ?? "default",
  "kernel.packages": ({ kernel }) => showPackages(kernel.packages),
  "llm.models": ({ llm }) => list(llm.models),
  "llm.calls": ({ llm }) => String(llm.calls),
  "llm.tokens": ({ llm }) => String(llm.tokens),
  "llm.usd": ({ llm }) => String(llm.usd),
  "llm.depth": ({ llm }) => String(llm.depth),
  "llm.concurrency": ({ llm }) => String(llm.concurrency),
  "llm.promptChars": ({ llm }) => String(llm.promptChars),
  "llm.callTimeout": ({ llm }) => formatDuration(llm.callTimeoutMs),
  "llm.timeout": ({ llm }) => formatDuration(llm.timeoutMs),
  "tools.allow": ({ tools }) => list(tools.allow),
  "tools.calls": ({ tools }) => String(tools.calls),
  "tools.timeout": ({ tools }) => formatDuration(tools.timeoutMs),
  "tools.arguments": ({ tools }) => formatSize(tools.argumentsBytes),
  "tools.result": ({ tools }) => formatSize(tools.resultBytes),
  "audit.enabled": ({ audit }) => String(audit.enabled),
  "audit.code": ({ audit }) => audit.code,
  "audit.durable": ({ audit }) => String(audit.durable),
  "audit.keep": ({ audit }) => formatSize(audit.keepBytes),
  "audit.age": ({ audit }) => formatDuration(audit.keepMs),
};

const fieldNames = Object.keys(show) as PolicyFieldName[];

/** Every rule that is enforced, in the order of the file. */
export const ruleNames: readonly RuleName[] = fieldNames.filter((name) => name !== "isolation.runner");

const hostRuleNames: ReadonlySet<string> = new Set<HostRuleName>([
  ...(["session.idle", "session.lifetime", "session.limit", "session.persist", "session.pool"] as const),
  ...ruleNames.filter(isOfHostSection),
]);

export function isHostRule<Rule extends RuleName>(rule: Rule): rule is Rule & HostRuleName {
  return hostRuleNames.has(rule);
}

/** Sections whose rules are all about what the host does for a cell. */
function isOfHostSection(
  rule: RuleName,
): rule is Extract<RuleName, `llm.${string}` | `tools.${string}` | `audit.${string}`> {
  return /^(?:llm|tools|audit)\./.test(rule);
}

/** Every rule that a runner enforces. */
export const cellRuleNames: readonly CellRuleName[] = ruleNames.filter((rule) => !isHostRule(rule));

/** Every rule of a policy with its value as people write it. Plans and receipts are built from this list. */
export function policyRules(policy: Policy): { rule: RuleName; value: string }[] {
  return ruleNames.map((rule) => ({ rule, value: show[rule](policy) }));
}

/** One value as people write it. */
export function showRule(policy: Policy, rule: PolicyFieldName): string {
  return show[rule](policy);
}

function list(items: readonly string[]): string {
  return items.length === 0 ? "none" : items.join(", ");
}
