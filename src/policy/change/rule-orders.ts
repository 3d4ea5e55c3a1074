import { type UsdLimit, unlimited } from "../host-calls/llm-rules.ts";
import { modelGlobCovers } from "../host-calls/model-glob.ts";
import { commonGlobs } from "../host-calls/star-glob.ts";
import { toolGlobCovers } from "../host-calls/tool-glob.ts";
import { compareIsolation, type IsolationLevel } from "../isolation.ts";
import { hostPatternCovers } from "../network/host-pattern.ts";
import { inspectCovers } from "../network/inspect.ts";
import { isModelHost } from "../network/model-hosts.ts";
import { commonSecrets, secretsNarrow } from "../network/net-secrets.ts";
import { requestRulesNarrow } from "../network/request-rule.ts";
import { isBelow } from "../paths/host-path.ts";
import type { Policy, RunnerName } from "../schema.ts";

/**
 * When a value of a rule permits no more than another one. `test/fuzz/policy-lattice.test.ts` tries the laws of this order
 * with every rule.
 */
export interface Order<Value> {
  readonly narrows: (to: Value, from: Value) => boolean;
  /** what the policy or the ceiling permits, as one limit; absent: each of them is a limit of its own */
  readonly join?: (from: Value, ceiling: Value) => Value;
  /** what both permit; absent: the narrower of the two, and where neither is, the other value, which is the limit */
  readonly meet?: (value: Value, other: Value) => Value;
  /** an extra comparison with the ceiling, such as a directory below another */
  readonly under?: (to: Value, ceiling: Value, own: Value) => boolean;
  /** what a host program may choose without a ceiling */
  readonly free?: (to: Value, from: Value) => boolean;
}

type Runner = RunnerName | "auto";

export const atMost: Order<number> = { narrows: (to, from) => to <= from, meet: Math.min, join: Math.max };
export const atLeast: Order<number> = { narrows: (to, from) => to >= from, meet: Math.max, join: Math.min };
export const onlyOff: Order<boolean> = {
  narrows: (to, from) => !to || from,
  meet: (a, b) => a && b,
  join: (a, b) => a || b,
};
export const onlyOn: Order<boolean> = {
  narrows: (to, from) => to || !from,
  meet: (a, b) => a || b,
  join: (a, b) => a && b,
};
/** Lists that permit: fewer is narrower. */
export const fewer: Order<string[]> = {
  narrows: (to, from) => to.every((item) => from.includes(item)),
  join: union,
  meet: common,
};
/** Lists that forbid: more is narrower. */
export const more: Order<string[]> = {
  narrows: (to, from) => from.every((item) => to.includes(item)),
  join: common,
  meet: union,
};

/** Only the same path. The attack: a program creates a link below an allowed path that leads out of it. */
export const samePathOrNone: Order<string | undefined> = {
  narrows: (to, from) => to === undefined || to === from,
  meet: (a, b) => (a === b ? a : undefined),
};
export const directory: Order<string | undefined> = {
  ...samePathOrNone,
  under: (to, ceiling) => to !== undefined && ceiling !== undefined && (to === ceiling || isBelow(to, ceiling)),
};

export const atLeastThisLevel: Order<IsolationLevel> = {
  narrows: (to, from) => compareIsolation(to, from) >= 0,
  meet: (a, b) => (compareIsolation(a, b) >= 0 ? a : b),
  join: (a, b) => (compareIsolation(a, b) >= 0 ? b : a),
};
export const runnerChoice: Order<Runner> = {
  // `auto` may take a runner stronger than the named one, so replacing it does not narrow
  narrows: (to, from) => to === from || isAtLeast(to, from),
  under: (to, ceiling) => ceiling === "auto" || to === ceiling || isAtLeast(to, ceiling),
  // isolation.minimum is the guarantee, and it is checked separately
  free: (_to, from) => from === "auto",
};

/** A runner without a level of its own, on machines of others, is comparable with no other. */
function isAtLeast(to: Runner, from: Runner): boolean {
  if (to === "auto" || from === "auto" || to === "kubernetes" || from === "kubernetes") return false;
  return compareIsolation(to, from) >= 0;
}

export const mounts: Order<Policy["fs"]["mounts"]> = {
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

export const denyGlobs: Order<string[]> = {
  narrows: (to, from) =>
    more.narrows(to.filter(isPlain), from.filter(isPlain)) && fewer.narrows(to.filter(isLift), from.filter(isLift)),
  join: (from, ceiling) => [
    ...common(from.filter(isPlain), ceiling),
    ...union(from.filter(isLift), ceiling.filter(isLift)),
  ],
  meet: (a, b) => [...union(a.filter(isPlain), b.filter(isPlain)), ...common(a.filter(isLift), b.filter(isLift))],
};

/** For a model only the same paths. The attack: a program creates a link below one of them that leads out of it. */
export const loadable: Order<string[]> = {
  ...fewer,
  under: (to, ceiling, own) =>
    to.every((path) => own.includes(path) || ceiling.some((limit) => path === limit || isBelow(path, limit))),
};

export const hosts: Order<string[]> = {
  narrows: (to, from) => to.every((host) => isCovered(host, from)),
  join: union,
  meet: (a, b) =>
    union(union(a, b), [...onTlsPort(a, b), ...onTlsPort(b, a)]).filter(
      (host) => isCovered(host, a) && isCovered(host, b),
    ),
};

/** Less inspection is wider. The attack: traffic that the proxy cannot read, or domain fronting to another host. */
export const inspected: Order<string[]> = {
  narrows: (to, from) => from.every((host) => to.some((other) => inspectCovers(other, host))),
  meet: union,
};
export const requests: Order<Policy["net"]["rules"]> = { narrows: requestRulesNarrow };
export const secrets: Order<Policy["net"]["secrets"]> = { narrows: secretsNarrow, meet: commonSecrets };

export const environment: Order<Policy["env"]> = {
  narrows: (to, from) => Object.entries(to).every(([name, value]) => Object.hasOwn(from, name) && from[name] === value),
  meet: (a, b) =>
    Object.fromEntries(Object.entries(a).filter(([name, value]) => Object.hasOwn(b, name) && b[name] === value)),
  // a ceiling names the variables that may be set; the host program chooses their values
  under: (to, ceiling, own) =>
    Object.entries(to).every(([name, value]) => {
      return Object.hasOwn(ceiling, name) || (Object.hasOwn(own, name) && own[name] === value);
    }),
};

export const models: Order<string[]> = {
  narrows: (to, from) => to.every((glob) => from.some((wide) => modelGlobCovers(wide, glob))),
  join: union,
  meet: (a, b) => commonGlobs(a, b, modelGlobCovers),
};
export const tools: Order<string[]> = {
  narrows: (to, from) => to.every((glob) => from.some((wide) => toolGlobCovers(wide, glob))),
  join: union,
  meet: (a, b) => commonGlobs(a, b, toolGlobCovers),
};
export const usd: Order<UsdLimit> = {
  narrows: (to, from) => from === unlimited || (to !== unlimited && to <= from),
  meet: (a, b) => (a === unlimited ? b : b === unlimited ? a : Math.min(a, b)),
  join: (a, b) => (a === unlimited || b === unlimited ? unlimited : Math.max(a, b)),
};

/** Only `auto` may be changed: `required` and `off` are decisions of the policy. */
export const recovery: Order<Policy["session"]["recovery"]> = { narrows: (to, from) => to === from || from === "auto" };

/** The attack: code that may change the policy turns off the audit to hide itself. Recording less is always wider. */
export const auditedCode: Order<Policy["audit"]["code"]> = {
  narrows: (to, from) => to === from || to === "full",
  meet: (a, b) => (a === b ? a : "full"),
  join: (a, b) => (a === b ? a : "hash"),
};

/** `a.example.com` and `*.example.com:443` have `a.example.com:443` in common, which neither list names. */
function onTlsPort(entries: readonly string[], others: readonly string[]): string[] {
  if (!others.some((entry) => entry.endsWith(":443"))) return [];
  return entries.filter((entry) => !entry.includes(":")).map((entry) => `${entry}:443`);
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
