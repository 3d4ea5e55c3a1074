import { canonicalJson } from "../hash.ts";
import { type UsdLimit, unlimited } from "../host-calls/llm-rules.ts";
import { modelGlobCovers } from "../host-calls/model-glob.ts";
import { commonGlobs } from "../host-calls/star-glob.ts";
import { toolGlobCovers } from "../host-calls/tool-glob.ts";
import { compareIsolation, type IsolationLevel } from "../isolation.ts";
import { hostPatternCovers } from "../network/host-pattern.ts";
import { inspectCovers } from "../network/inspect.ts";
import { isModelHost } from "../network/model-hosts.ts";
import { secretsNarrow } from "../network/net-secrets.ts";
import { requestRulesNarrow } from "../network/request-rule.ts";
import { isBelow } from "../paths/host-path.ts";
import type { PolicyFieldName } from "../rules.ts";
import type { Policy, PolicyPatch, RunnerName } from "../schema.ts";

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
  /** `policy` with this rule reduced to what it and `other` both permit */
  meet(policy: Policy, other: Policy): Policy;
}

interface Order<Value> {
  readonly narrows: (to: Value, from: Value) => boolean;
  /** combines the policy's value and the ceiling's into one limit; absent: each of them is a limit of its own */
  readonly join?: (from: Value, ceiling: Value) => Value;
  /** what both permit; absent: the other value */
  readonly meet?: (value: Value, other: Value) => Value;
  /** an extra comparison with the ceiling, such as a directory below another */
  readonly under?: (to: Value, ceiling: Value, own: Value) => boolean;
  /** what a host program may choose without a ceiling */
  readonly free?: (to: Value, from: Value) => boolean;
}

type SectionName = Exclude<keyof Policy, "version" | "env" | "overrides">;
type Runner = RunnerName | "auto";

const atMost: Order<number> = { narrows: (to, from) => to <= from, meet: Math.min };
const atLeast: Order<number> = { narrows: (to, from) => to >= from };
const onlyOff: Order<boolean> = { narrows: (to, from) => !to || from, meet: (a, b) => a && b };
const onlyOn: Order<boolean> = { narrows: (to, from) => to || !from, meet: (a, b) => a || b };
/** Lists that permit: fewer is narrower. */
const fewer: Order<string[]> = { narrows: (to, from) => to.every((item) => from.includes(item)), join: union };
/** Lists that forbid: more is narrower. */
const more: Order<string[]> = {
  narrows: (to, from) => from.every((item) => to.includes(item)),
  join: common,
  meet: union,
};

/** Only the same path. The attack: a program creates a link below an allowed path that leads out of it. */
const samePathOrNone: Order<string | undefined> = { narrows: (to, from) => to === undefined || to === from };
const directory: Order<string | undefined> = {
  ...samePathOrNone,
  under: (to, ceiling) => to !== undefined && ceiling !== undefined && (to === ceiling || isBelow(to, ceiling)),
};

const atLeastThisLevel: Order<IsolationLevel> = { narrows: (to, from) => compareIsolation(to, from) >= 0 };
const runnerChoice: Order<Runner> = {
  // `auto` may take a runner stronger than the named one, so replacing it does not narrow
  narrows: (to, from) => to === from || (from !== "auto" && to !== "auto" && compareIsolation(to, from) >= 0),
  under: (to, ceiling) => ceiling === "auto" || (to !== "auto" && compareIsolation(to, ceiling) >= 0),
  // isolation.minimum is the guarantee, and it is checked separately
  free: (_to, from) => from === "auto",
};

const mounts: Order<Policy["fs"]["mounts"]> = {
  narrows: (to, from) =>
    to.every((mount) => from.some((other) => isMountWithin(mount, other, false))) &&
    // A read-only mount inside the workspace protects the files under it: without it they would be writable.
    from.filter(isInWorkspace).every((mount) => to.some(({ target }) => target === mount.target)),
  under: (to, ceiling, own) =>
    to.every(
      (mount) =>
        own.some((other) => isMountWithin(mount, other, false)) ||
        ceiling.some((other) => isMountWithin(mount, other, true)),
    ),
};

const denyGlobs: Order<string[]> = {
  narrows: (to, from) =>
    more.narrows(to.filter(isPlain), from.filter(isPlain)) && fewer.narrows(to.filter(isLift), from.filter(isLift)),
  join: (from, ceiling) => [
    ...common(from.filter(isPlain), ceiling),
    ...union(from.filter(isLift), ceiling.filter(isLift)),
  ],
};

/** For a model only the same paths. The attack: a program creates a link below one of them that leads out of it. */
const loadable: Order<string[]> = {
  ...fewer,
  under: (to, ceiling, own) =>
    to.every((path) => own.includes(path) || ceiling.some((limit) => path === limit || isBelow(path, limit))),
};

const hosts: Order<string[]> = {
  narrows: (to, from) => to.every((host) => isCovered(host, from)),
  join: union,
  meet: (a, b) =>
    union(
      a.filter((host) => isCovered(host, b)),
      b.filter((host) => isCovered(host, a)),
    ),
};

/** Less inspection is wider. The attack: traffic that the proxy cannot read, or domain fronting to another host. */
const inspected: Order<string[]> = {
  narrows: (to, from) => from.every((host) => to.some((other) => inspectCovers(other, host))),
  meet: union,
};
const requests: Order<Policy["net"]["rules"]> = { narrows: requestRulesNarrow };
const secrets: Order<Policy["net"]["secrets"]> = { narrows: secretsNarrow };

const environment: Order<Policy["env"]> = {
  narrows: (to, from) => Object.entries(to).every(([name, value]) => Object.hasOwn(from, name) && from[name] === value),
  // a ceiling names the variables that may be set; the host program chooses their values
  under: (to, ceiling, own) =>
    Object.entries(to).every(([name, value]) => {
      return Object.hasOwn(ceiling, name) || (Object.hasOwn(own, name) && own[name] === value);
    }),
};

const models: Order<string[]> = {
  narrows: (to, from) => to.every((glob) => from.some((wide) => modelGlobCovers(wide, glob))),
  join: union,
  meet: (a, b) => commonGlobs(a, b, modelGlobCovers),
};
const tools: Order<string[]> = {
  narrows: (to, from) => to.every((glob) => from.some((wide) => toolGlobCovers(wide, glob))),
  join: union,
  meet: (a, b) => commonGlobs(a, b, toolGlobCovers),
};
const usd: Order<UsdLimit> = {
  narrows: (to, from) => from === unlimited || (to !== unlimited && to <= from),
  meet: (a, b) => (a === unlimited ? b : b === unlimited ? a : Math.min(a, b)),
};

/** Only `auto` may be changed: `required` and `off` are decisions of the policy. */
const recovery: Order<Policy["session"]["recovery"]> = { narrows: (to, from) => to === from || from === "auto" };

/** The attack: code that may change the policy turns off the audit to hide itself. Recording less is always wider. */
const auditedCode: Order<Policy["audit"]["code"]> = { narrows: (to, from) => to === from || to === "full" };

/** What "wider" means, a row per rule. */
export const mergeRules: Readonly<Record<PolicyFieldName, MergeRule>> = {
  "isolation.runner": rule("isolation", "runner", runnerChoice),
  "isolation.minimum": rule("isolation", "minimum", atLeastThisLevel),
  "fs.workspace": rule("fs", "workspace", directory),
  "fs.deps": rule("fs", "deps", directory),
  "fs.mounts": rule("fs", "mounts", mounts),
  "fs.deny": rule("fs", "deny", denyGlobs),
  "fs.load": rule("fs", "load", loadable),
  "net.enabled": rule("net", "enabled", onlyOff),
  "net.allowlist": rule("net", "allowlist", hosts),
  "net.deny": rule("net", "deny", more),
  "net.inspect": rule("net", "inspect", inspected),
  "net.rules": rule("net", "rules", requests),
  "net.secrets": rule("net", "secrets", secrets),
  "net.connections": rule("net", "connections", atMost),
  "net.requests": rule("net", "requests", atMost),
  "net.sent": rule("net", "sentBytes", atMost),
  "net.received": rule("net", "receivedBytes", atMost),
  "proc.timeout": rule("proc", "timeoutMs", atMost),
  "proc.cpus": rule("proc", "cpus", atMost),
  "proc.memory": rule("proc", "memoryBytes", atMost),
  "proc.pids": rule("proc", "pids", atMost),
  "proc.files": rule("proc", "files", atMost),
  "proc.disk": rule("proc", "diskBytes", atMost),
  "proc.exactDisk": rule("proc", "exactDisk", onlyOn),
  "proc.output": rule("proc", "outputBytes", atMost),
  "proc.background": rule("proc", "background", onlyOff),
  env: field<Policy["env"]>({
    patched: (patch) => patch.env,
    read: (policy) => policy.env,
    write: (policy, env) => ({ ...policy, env }),
    order: environment,
  }),
  "session.recovery": rule("session", "recovery", recovery),
  "session.idle": rule("session", "idleMs", atMost),
  "session.lifetime": rule("session", "lifetimeMs", atMost),
  "session.limit": rule("session", "limit", atMost),
  "session.persist": rule("session", "persist", onlyOff),
  "session.checkpoints": rule("session", "checkpoints", atMost),
  "session.pool": rule("session", "pool", atMost),
  "kernel.preload": rule("kernel", "preload", fewer),
  "kernel.python": rule("kernel", "python", samePathOrNone),
  "kernel.image": rule("kernel", "image", samePathOrNone),
  "llm.models": rule("llm", "models", models),
  "llm.calls": rule("llm", "calls", atMost),
  "llm.tokens": rule("llm", "tokens", atMost),
  "llm.usd": rule("llm", "usd", usd),
  "llm.depth": rule("llm", "depth", atMost),
  "llm.concurrency": rule("llm", "concurrency", atMost),
  "llm.promptChars": rule("llm", "promptChars", atMost),
  "llm.callTimeout": rule("llm", "callTimeoutMs", atMost),
  "llm.timeout": rule("llm", "timeoutMs", atMost),
  "tools.allow": rule("tools", "allow", tools),
  "tools.calls": rule("tools", "calls", atMost),
  "tools.timeout": rule("tools", "timeoutMs", atMost),
  "tools.arguments": rule("tools", "argumentsBytes", atMost),
  "tools.result": rule("tools", "resultBytes", atMost),
  "audit.enabled": rule("audit", "enabled", onlyOn),
  "audit.code": rule("audit", "code", auditedCode),
  "audit.durable": rule("audit", "durable", onlyOn),
  "audit.keep": rule("audit", "keepBytes", atLeast),
  "audit.age": rule("audit", "keepMs", atLeast),
};

function rule<Section extends SectionName, Key extends keyof Policy[Section]>(
  section: Section,
  key: Key,
  order: Order<Policy[Section][Key]>,
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
  order: Order<Value>;
}): MergeRule {
  const { patched, read, write, order } = options;
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
    meet: (policy, other) => write(policy, order.meet?.(read(policy), read(other)) ?? read(other)),
  };
}

function isCovered(host: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => hostPatternCovers(pattern, host) && !opensMore(host, pattern));
}

/** Whether an entry opens more than the wider one that covers it: a model host by name, or any protocol on a named port. */
function opensMore(entry: string, wide: string): boolean {
  const [[name = "", port], [wideName, widePort]] = [entry.split(":"), wide.split(":")];
  // On port 443 both allow TLS only. On port 80 the wide one allows TLS and plain HTTP only, and the proxy checks its Host.
  return (isModelHost(name) && name !== wideName) || (port === "80" && widePort === undefined);
}

function isMountWithin(mount: Policy["fs"]["mounts"][number], limit: typeof mount, mayLieBelow: boolean): boolean {
  const isSource = mount.source === limit.source || (mayLieBelow && isBelow(mount.source, limit.source));
  const isTarget = mount.target === limit.target || mayLieBelow;
  return isSource && isTarget && (mount.mode === "ro" || limit.mode === "rw");
}

function isInWorkspace({ target }: Policy["fs"]["mounts"][number]): boolean {
  return isBelow(target, "/workspace");
}

function union(a: string[], b: string[]): string[] {
  return [...new Set([...a, ...b])];
}

function common(a: string[], b: string[]): string[] {
  return a.filter((item) => b.includes(item));
}

function isLift(glob: string): boolean {
  return glob.startsWith("!");
}

function isPlain(glob: string): boolean {
  return !glob.startsWith("!");
}

function isSame(a: unknown, b: unknown): boolean {
  return canonicalJson({ a }) === canonicalJson({ a: b });
}
