import { silentAudit } from "../../../src/audit/audit.ts";
import { builtinDeny } from "../../../src/policy/paths/builtin-deny.ts";
import type { RuleName } from "../../../src/policy/rules.ts";
import type { PolicyInput } from "../../../src/policy/schema.ts";
import type { CodecellOptions } from "../../../src/sessions/codecell-options.ts";
import { FakeAudit } from "../../fakes/fake-audit.ts";
import { allowedModel } from "./model-attacks.ts";
import { type Place, secretVariable } from "./place.ts";

/** What the cells of a runner can be given. */
export interface RunnerKind {
  /** where directories of the host appear: at any path, only at their own, or nowhere */
  readonly directories: "mapped" | "at their own path" | "none";
  readonly hasNetwork: boolean;
  /** `kernel.python` may name an interpreter of the host */
  readonly takesPython: boolean;
  /** without a directory of the session on the host, files are in a tmpfs of the cell */
  readonly hasTmpfs: boolean;
  /** `proc.cpus` that is small enough to be seen */
  readonly cpus: number;
}

/** A policy, the values that its receipt must show, and by its rows the rules that are attacked under it. */
export interface AttackedPolicy {
  readonly title: string;
  readonly input: (place: Place) => PolicyInput;
  readonly rows: (place: Place) => Partial<Record<RuleName, string>>;
  readonly options?: (place: Place) => Partial<CodecellOptions>;
}

const patient = { timeout: "20s" };

/** Rows that are the same under every policy that does not set them. */
const closedNetwork = {
  ...{
    "net.enabled": "false",
    "net.allowlist": "none",
    "net.deny": "none",
    "net.inspect": "none",
    "net.rules": "none",
  },
  ...{ "net.secrets": "none", "net.connections": "64", "net.requests": "50", "net.sent": "4GiB" },
  "net.received": "64GiB",
} as const;

/** The defaults of what a cell could call through the host. */
const noHostCalls = {
  ...{ "llm.models": "none", "llm.calls": "50", "llm.tokens": "2000000", "llm.usd": "1", "llm.depth": "1" },
  ...{ "llm.concurrency": "8", "llm.promptChars": "400000", "llm.callTimeout": "2m", "llm.timeout": "10m" },
  ...{ "tools.allow": "none", "tools.calls": "100", "tools.timeout": "30s", "tools.arguments": "256KiB" },
  "tools.result": "1MiB",
} as const;

/** Small limits and nothing of the host. */
function tight({ cpus, directories }: RunnerKind): AttackedPolicy {
  return {
    title: "small limits",
    input: ({ root }) => ({
      proc: { ...patient, cpus, memory: "128MiB", pids: 24, files: 64, disk: "8MiB", output: "64KiB" },
      fs: { load: [`${root}/host/readable`] },
      env: { GREETING: "hello" },
      session: { limit: 4, checkpoints: 2, undo: 2 },
      kernel: { preload: ["colorsys"] },
      audit: { code: "hash", keep: "1MiB", age: "24h" },
    }),
    rows: ({ root }) => ({
      ...{ "isolation.minimum": "wasm", "fs.workspace": "private", "fs.deps": "none", "fs.mounts": "none" },
      ...{ "fs.load": `${root}/host/readable`, ...closedNetwork, "proc.cpus": String(cpus), "proc.memory": "128MiB" },
      ...{ "proc.pids": "24", "proc.files": "64", "proc.disk": "8MiB", "proc.output": "64KiB" },
      ...{ "proc.exactDisk": "false" },
      ...{ "proc.background": "false", env: "GREETING", "session.recovery": "auto", "session.limit": "4" },
      ...{
        "session.persist": "false",
        "session.checkpoints": "2",
        "session.undo": "2",
        "session.pool": "0",
        "kernel.packages": "none",
        "kernel.preload": "colorsys",
      },
      ...{ "kernel.python": "best found", "kernel.image": "default", "audit.enabled": "true", "audit.code": "hash" },
      ...{ "audit.durable": "false", "audit.keep": "1MiB", "audit.age": "24h", ...noHostCalls },
      // where there are mounts, the policy with mounts is attacked
      ...(directories !== "none" ? {} : { "fs.deny": `built-in (${builtinDeny.length})` }),
    }),
  };
}

const kept: AttackedPolicy = {
  title: "sessions that are kept",
  input: () => ({
    proc: { ...patient, background: true },
    session: { persist: true, pool: 1, recovery: "off" },
    audit: { durable: true },
  }),
  rows: () => ({
    ...{ "proc.background": "true", "session.recovery": "off", "session.persist": "true", "session.pool": "1" },
    "session.undo": "0",
    ...{ "kernel.preload": "none", "audit.code": "full", "audit.durable": "true", "fs.load": "none" },
  }),
};

const shortLives: AttackedPolicy = {
  title: "short lives",
  input: () => ({ proc: patient, session: { idle: "150ms", lifetime: "400ms" } }),
  rows: () => ({ "session.idle": "150ms", "session.lifetime": "400ms" }),
};

const shortRuns: AttackedPolicy = {
  title: "short runs",
  input: () => ({ proc: { timeout: "250ms" } }),
  rows: () => ({ "proc.timeout": "250ms" }),
};

const auditRules = (enabled: string) => ({
  ...{ "audit.enabled": enabled, "audit.code": "full", "audit.durable": "false", "audit.keep": "1GiB" },
  "audit.age": "2160h",
});

/** These rows do not depend on the runner. */
export const auditPolicies: readonly AttackedPolicy[] = [
  {
    title: "a policy without an audit",
    input: () => ({ proc: patient, audit: { enabled: false } }),
    rows: () => auditRules("false"),
  },
  {
    title: "an audit that the program turned off",
    input: () => ({ proc: patient }),
    options: () => ({ audit: silentAudit }),
    rows: () => auditRules("true"),
  },
  {
    title: "an audit of the program's own",
    input: () => ({ proc: patient }),
    options: () => ({ audit: new FakeAudit() }),
    rows: () => auditRules("true"),
  },
];

/** What the policy allows and this program does not offer. These rows do not depend on the runner. */
export const unofferedCalls: AttackedPolicy = {
  title: "models and tools that this program does not offer",
  input: () => ({
    proc: patient,
    llm: { models: ["anthropic/claude-*"], usd: "unlimited", calls: 3 },
    tools: { allow: ["docs/*"] },
  }),
  rows: () => ({
    ...noHostCalls,
    ...{ "llm.models": "anthropic/claude-*", "llm.usd": "unlimited", "llm.calls": "3", "tools.allow": "docs/*" },
  }),
};

/** Tools of another MCP server, under small limits. These rows do not depend on the runner. */
export const offeredTools: AttackedPolicy = {
  title: "tools of another MCP server",
  input: () => ({
    proc: patient,
    tools: { allow: ["test/*"], calls: 4, timeout: "500ms", arguments: "1KiB", result: "2KiB" },
  }),
  options: () => ({ hostCalls: { tools: true } }),
  rows: () => ({
    ...{ "tools.allow": "test/*", "tools.calls": "4", "tools.timeout": "500ms", "tools.arguments": "1KiB" },
    "tools.result": "2KiB",
  }),
};

/** Models that code may call, under small budgets. These rows do not depend on the runner. */
const modelBudgets: AttackedPolicy = {
  title: "models with small budgets",
  input: () => ({
    proc: patient,
    llm: { models: [allowedModel], calls: 20, tokens: 30_000, usd: 0.1, promptChars: 20_000 },
  }),
  options: () => ({ hostCalls: { models: true } }),
  rows: () => ({
    ...{ "llm.models": allowedModel, "llm.calls": "20", "llm.tokens": "30000", "llm.usd": "0.1" },
    "llm.promptChars": "20000",
  }),
};

/** Models that code may call, for a short time. */
const modelTimes: AttackedPolicy = {
  title: "models with short times",
  input: () => ({
    proc: patient,
    llm: {
      ...{ models: ["anthropic/claude-*"], calls: 40, usd: "unlimited", depth: 1, concurrency: 2 },
      ...{ callTimeout: "1500ms", timeout: "4s" },
    },
  }),
  options: () => ({ hostCalls: { models: true } }),
  rows: () => ({
    ...{ "llm.usd": "unlimited", "llm.depth": "1", "llm.concurrency": "2", "llm.callTimeout": "1500ms" },
    "llm.timeout": "4s",
  }),
};

export const offeredModels = [modelBudgets, modelTimes] as const;

/** The session's own file system, where the host can mount one. */
export const exactDisk: AttackedPolicy = {
  title: "a disk that is exact",
  input: () => ({ proc: { ...patient, disk: "8MiB", exactDisk: true } }),
  rows: () => ({ "proc.disk": "8MiB", "proc.exactDisk": "true" }),
};

/** As plain `codecell run` does it: nobody asks for the files on the host. */
const inTheCell: AttackedPolicy = {
  title: "files that stay in the cell",
  input: () => ({ proc: { ...patient, memory: "128MiB", disk: "8MiB" } }),
  options: () => ({ filesStayInCell: true }),
  rows: () => ({ "fs.workspace": "private", "proc.memory": "128MiB", "proc.disk": "8MiB" }),
};

function hostDirectories({ directories, takesPython }: RunnerKind): AttackedPolicy {
  const isMapped = directories === "mapped";
  const mounts = (place: Place) => [
    { source: place.path("readable"), target: isMapped ? "/data" : place.path("readable"), mode: "ro" as const },
    { source: place.path("writable"), target: isMapped ? "/out" : place.path("writable"), mode: "rw" as const },
  ];
  const python = "/usr/bin/python3";
  return {
    title: "directories of the host",
    input: (place) => ({
      proc: { ...patient, disk: "8MiB" },
      fs: {
        ...{ workspace: place.path("work"), mounts: mounts(place), deny: ["*.classified"] },
        ...(isMapped ? { deps: place.path("deps") } : {}),
      },
      kernel: takesPython ? { python } : {},
    }),
    rows: (place) => ({
      "fs.workspace": place.path("work"),
      "fs.mounts": mounts(place)
        .map(({ source, target, mode }) => `${source} → ${target} (${mode})`)
        .join(", "),
      "proc.disk": "8MiB",
      "fs.deny": `built-in (${builtinDeny.length}), *.classified`,
      ...(isMapped ? { "fs.deps": place.path("deps") } : {}),
      ...(takesPython ? { "kernel.python": python } : {}),
    }),
  };
}

const plainNetwork: AttackedPolicy = {
  title: "a plain network",
  input: (place) => ({
    proc: patient,
    net: {
      enabled: true,
      allowlist: hosts(place, "good.example", "denied.example"),
      ...{ connections: 3, requests: 2, sent: "64KiB", received: "64KiB" },
    },
  }),
  rows: (place) => ({
    ...{ "net.enabled": "true", "net.inspect": "none", "net.rules": "none", env: "none" },
    "net.allowlist": hosts(place, "good.example", "denied.example").join(", "),
    ...{ "net.deny": "none", "net.secrets": "none", "net.connections": "3", "net.requests": "2", "net.sent": "64KiB" },
    "net.received": "64KiB",
  }),
  options: ({ egress }) => ({ egress }),
};

const inspected: AttackedPolicy = {
  title: "a network that is inspected",
  input: (place) => ({
    proc: patient,
    net: {
      ...{ enabled: true, allowlist: hosts(place, "good.example", "denied.example", "ruled.example") },
      ...{ deny: ["denied.example"], inspect: true },
      rules: [{ host: "ruled.example", methods: ["GET"], paths: ["/public/**"] }],
      secrets: { API_TOKEN: { from: `env:${secretVariable}`, hosts: secretHosts(place) } },
    },
  }),
  rows: (place) => ({
    ...{ "net.deny": "denied.example", "net.inspect": "all", "net.rules": "ruled.example GET /public/**" },
    env: "none",
    "net.secrets": `API_TOKEN from env:${secretVariable} → ${secretHosts(place).join(" ")}`,
  }),
  options: ({ egress }) => ({ egress }),
};

function secretHosts(place: Place): string[] {
  return hosts(place, "good.example");
}

function hosts({ web, trusted, untrusted }: Place, ...names: string[]): string[] {
  const ports = [web.port, trusted.port, untrusted.port];
  return names.flatMap((name) => ports.map((port) => `${name}:${port}`));
}

/** The policies under which a runner's receipts are attacked. */
export function policiesFor(kind: RunnerKind): readonly AttackedPolicy[] {
  return [
    ...[tight(kind), kept, shortLives, shortRuns],
    ...(kind.hasTmpfs ? [inTheCell] : []),
    ...(kind.directories === "none" ? [] : [hostDirectories(kind)]),
    ...(kind.hasNetwork ? [plainNetwork, inspected] : []),
  ];
}
