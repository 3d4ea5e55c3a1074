import { describe, expect, test } from "vitest";
import { isThorough } from "../../../test/support/thorough.ts";
import { CodecellError } from "../../lib/errors.ts";
import { parsePolicy } from "../file/parse-policy.ts";
import { isolationLevels } from "../isolation.ts";
import { hostPatternCovers } from "../network/host-pattern.ts";
import { denyMatcher } from "../paths/deny.ts";
import { type PolicyFieldName, ruleNames, showRule } from "../rules.ts";
import { type Policy, type PolicyOverride, runnerNames } from "../schema.ts";
import { mergePolicy } from "./merge.ts";
import { mergeRules } from "./merge-rules.ts";

const wide = parsePolicy({
  isolation: { minimum: "process" },
  fs: {
    workspace: "/srv/work",
    deps: "/srv/deps",
    mounts: [
      { source: "/srv/a", target: "/a", mode: "rw" },
      { source: "/srv/b", target: "/b" },
    ],
    deny: ["secret/**", "!.npmrc"],
    load: ["/srv/data", "/srv/one.csv"],
  },
  net: {
    ...{ enabled: true, allowlist: ["packages.example", "*.example.com"], deny: ["bad.example.com"] },
    ...{ connections: 8, requests: 5, sent: "1MiB", received: "1GiB" },
  },
  proc: { timeout: "60s", memory: "1GiB", cpus: 2, pids: 100, background: true },
  env: { TZ: "UTC", LANG: "C" },
  kernel: { preload: ["numpy", "pandas"], python: "/usr/bin/python3" },
});

function refusal(base: Policy, override: PolicyOverride, authority: "host" | "model"): string {
  try {
    mergePolicy(base, override, authority);
  } catch (error) {
    if (error instanceof CodecellError && error.code === "override_refused") return error.message;
    throw error;
  }
  return "allowed";
}

describe("an override of the audit", () => {
  const strict = parsePolicy({ audit: { durable: true, keep: "10MiB", age: "48h" } });
  const lax = parsePolicy({ audit: { enabled: false, code: "hash" } });

  test.each([
    { audit: { enabled: false } },
    { audit: { code: "hash" } },
    { audit: { durable: false } },
    { audit: { keep: "1MiB" } },
    { audit: { age: "24h" } },
  ] as const)("an override that would record less is refused to hosts and models: %j", (override) => {
    expect(refusal(strict, override, "model")).not.toBe("allowed");
    expect(refusal(strict, override, "host")).not.toBe("allowed");
  });

  test("a model may ask for a more complete audit", () => {
    const more = { audit: { enabled: true, code: "full", durable: true, keep: "2GiB", age: "9000h" } } as const;
    expect(mergePolicy(lax, more, "model").changes.map(({ direction }) => direction)).toEqual(
      Array(5).fill("narrower"),
    );
  });
});

describe("an override from a model", () => {
  test("may narrow any rule, and the result lists the changes", () => {
    const { policy, changes } = mergePolicy(
      wide,
      {
        isolation: { minimum: "gvisor" },
        fs: { workspace: null, mounts: [{ source: "/srv/a", target: "/a", mode: "ro" }], deny: ["secret/**", "more"] },
        net: { allowlist: ["api.example.com"] },
        proc: { timeout: "10s", background: false },
        env: { TZ: "UTC" },
        kernel: { python: null, preload: [] },
      },
      "model",
    );
    expect(policy.fs.workspace).toBeUndefined();
    expect(policy.proc.timeoutMs).toBe(10_000);
    expect(policy.proc.memoryBytes).toBe(2 ** 30);
    expect(changes).toContainEqual({ rule: "proc.timeout", from: "1m", to: "10s", direction: "narrower" });
    expect(changes.map(({ rule }) => rule)).toEqual([
      ...[
        "isolation.minimum",
        "fs.workspace",
        "fs.mounts",
        "fs.deny",
        "net.allowlist",
        "proc.timeout",
        "proc.background",
      ],
      ...["env", "kernel.preload", "kernel.python"],
    ]);
    expect(changes.every(({ direction }) => direction === "narrower")).toBe(true);
  });

  test.each<[string, PolicyOverride]>([
    ["isolation.runner", { isolation: { runner: "wasm" } }],
    ["isolation.minimum", { isolation: { minimum: "wasm" } }],
    ["fs.workspace", { fs: { workspace: "/srv/work/link" } }],
    ["fs.workspace", { fs: { workspace: "/srv/other" } }],
    ["fs.deps", { fs: { deps: "/srv" } }],
    ["fs.mounts", { fs: { mounts: [{ source: "/srv/b", target: "/b", mode: "rw" }] } }],
    ["fs.mounts", { fs: { mounts: [{ source: "/srv/a/below", target: "/a" }] } }],
    ["fs.mounts", { fs: { mounts: [{ source: "/srv/a", target: "/elsewhere" }] } }],
    ["fs.deny", { fs: { deny: [] } }],
    ["fs.deny", { fs: { deny: ["secret/**", "!.npmrc", "!.env*"] } }],
    ["fs.load", { fs: { load: ["/srv/data", "/srv/other"] } }],
    ["fs.load", { fs: { load: ["/srv/data/link"] } }],
    ["net.allowlist", { net: { allowlist: ["evil.org"] } }],
    ["net.allowlist", { net: { allowlist: ["packages.example:22"] } }],
    ["net.deny", { net: { deny: [] } }],
    ["net.connections", { net: { connections: 9 } }],
    ["net.requests", { net: { requests: 6 } }],
    ["net.sent", { net: { sent: "2MiB" } }],
    ["net.received", { net: { received: "2GiB" } }],
    ["proc.timeout", { proc: { timeout: "61s" } }],
    ["proc.memory", { proc: { memory: "2GiB" } }],
    ["proc.cpus", { proc: { cpus: 2.5 } }],
    ["env", { env: { TZ: "other" } }],
    ["env", { env: { NEW: "x" } }],
    ["kernel.preload", { kernel: { preload: ["antigravity"] } }],
    ["kernel.packages", { kernel: { packages: { install: ["requests"] } } }],
    ["kernel.packages", { kernel: { packages: { index: ["https://packages.example/simple"] } } }],
    ["kernel.python", { kernel: { python: "/tmp/x/python" } }],
  ])("may not widen %s: %j", (rule, override) => {
    expect(refusal(wide, override, "model")).toMatch(
      new RegExp(`^${rule.replace(".", "\\.")}: .* a model may only narrow`),
    );
  });

  test("is refused with the rule, the requested value and the limit", () => {
    expect(refusal(wide, { proc: { memory: "4GiB", pids: 1000 } }, "model")).toBe(
      "proc.memory: 4GiB was requested, a model may only narrow 1GiB\nproc.pids: 1000 was requested, a model may only narrow 100",
    );
  });

  test("a ceiling does not grant rights that the policy lacks", () => {
    const base = parsePolicy({ overrides: { ceiling: { proc: { memory: "4GiB" } } } });
    expect(refusal(base, { proc: { memory: "1GiB" } }, "model")).toContain("proc.memory");
  });

  test("may drop a mount, but not one that covers part of the workspace", () => {
    const config = { source: "/srv/work/config", target: "/workspace/config" };
    const base = parsePolicy({ fs: { workspace: "/srv/work", mounts: [config, { source: "/srv/b", target: "/b" }] } });
    expect(refusal(base, { fs: { mounts: [config] } }, "model")).toBe("allowed");
    expect(refusal(base, { fs: { mounts: [] } }, "model")).toContain("fs.mounts");
  });

  test("cannot turn recovery off where it is required, nor on where it is off", () => {
    expect(
      refusal(parsePolicy({ session: { recovery: "required" } }), { session: { recovery: "off" } }, "model"),
    ).toContain("session");
    expect(
      refusal(parsePolicy({ session: { recovery: "off" } }), { session: { recovery: "auto" } }, "model"),
    ).toContain("session");
  });

  test("never produces a policy that permits more, whatever it requests", () => {
    const random = seeded(11);
    const rounds = isThorough ? 1_500 : 400;
    let merged = 0;
    for (let round = 0; round < rounds; round++) {
      const override = randomOverride(random);
      try {
        const { policy, changes } = mergePolicy(wide, override, "model");
        expect(changes.every(({ direction }) => direction === "narrower")).toBe(true);
        expectNotWider(policy, wide);
        merged++;
      } catch (error) {
        if (!(error instanceof CodecellError)) throw error;
      }
    }
    expect(merged).toBeGreaterThan(rounds / 20);
  });
});

describe("an allowlist entry below a wider one", () => {
  const base = parsePolicy({
    net: { enabled: true, allowlist: ["*.anthropic.com", "api.openai.com", "web.example.com"] },
    overrides: { ceiling: { net: { allowlist: ["*.mistral.ai"] } } },
  });
  const ask = (entry: string, authority: "host" | "model") => refusal(base, { net: { allowlist: [entry] } }, authority);

  test.each([
    ["it names a model host that the wildcard does not open", "api.anthropic.com"],
    ["it names a model host with a port", "api.anthropic.com:443"],
    ["it allows any protocol on port 80, not only TLS and plain HTTP", "web.example.com:80"],
  ])("is refused to hosts and models when %s", (_, entry) => {
    expect(ask(entry, "model")).not.toBe("allowed");
    expect(ask(entry, "host")).not.toBe("allowed");
  });

  test("is refused when it names a model host below a wildcard of the ceiling", () => {
    expect(ask("files.mistral.ai", "host")).toBe("allowed");
    expect(ask("api.mistral.ai", "host")).not.toBe("allowed");
  });

  test.each(["api.openai.com", "api.openai.com:443", "console.anthropic.com", "web.example.com:443"])(
    "is allowed when it opens no more than that one: %s",
    (entry) => {
      expect(ask(entry, "model")).toBe("allowed");
    },
  );
});

describe("an override from a host program", () => {
  const base = parsePolicy({
    fs: { mounts: [{ source: "/srv/a", target: "/a" }], deny: ["secret/**"] },
    env: { LANG: "C" },
    overrides: {
      ceiling: {
        proc: { memory: "4GiB" },
        fs: {
          workspace: "/srv/work",
          mounts: [{ source: "/srv/data", target: "/data" }],
          deny: ["secret/**", "!.npmrc"],
          load: ["/srv/data"],
        },
        net: { enabled: true, allowlist: ["*.example.com"] },
        env: { TZ: "" },
      },
    },
  });

  test("may raise a limit up to the ceiling", () => {
    const { policy, changes } = mergePolicy(base, { proc: { memory: "4GiB" } }, "host");
    expect(policy.proc.memoryBytes).toBe(4 * 2 ** 30);
    expect(changes).toEqual([{ rule: "proc.memory", from: "512MiB", to: "4GiB", direction: "wider" }]);
  });

  test.each<[string, PolicyOverride]>([
    ["a directory below the ceiling's", { fs: { workspace: "/srv/work/one" } }],
    [
      "the policy's mounts beside the ceiling's",
      {
        fs: {
          mounts: [
            { source: "/srv/a", target: "/a" },
            { source: "/srv/data/x", target: "/x" },
          ],
        },
      },
    ],
    ["an exception to the deny list that the ceiling has", { fs: { deny: ["secret/**", "!.npmrc"] } }],
    ["loading from below the ceiling's directory", { fs: { load: ["/srv/data/x.csv"] } }],
    ["a host below the ceiling's", { net: { enabled: true, allowlist: ["api.example.com"] } }],
    ["a variable that the ceiling names", { env: { LANG: "C", TZ: "Europe/Berlin" } }],
    ["a runner, where the policy leaves it open", { isolation: { runner: "process" } }],
    ["less than the policy gives", { proc: { timeout: "1s", pids: 8 }, env: {} }],
  ])("may ask for %s", (_what, override) => expect(refusal(base, override, "host")).toBe("allowed"));

  test.each<[string, PolicyOverride]>([
    ["proc.memory", { proc: { memory: "5GiB" } }],
    ["proc.timeout", { proc: { timeout: "31s" } }],
    ["fs.workspace", { fs: { workspace: "/srv/workers" } }],
    ["fs.mounts", { fs: { mounts: [{ source: "/srv/data", target: "/data", mode: "rw" }] } }],
    ["fs.mounts", { fs: { mounts: [{ source: "/srv/other", target: "/o" }] } }],
    ["fs.deny", { fs: { deny: ["!.npmrc"] } }],
    ["fs.load", { fs: { load: ["/srv/data", "/srv/data2"] } }],
    ["net.allowlist", { net: { allowlist: ["example.org"] } }],
    ["env", { env: { LANG: "de" } }],
    ["kernel.python", { kernel: { python: "/opt/python" } }],
  ])("may not exceed the ceiling: %s", (rule, override) => {
    expect(refusal(base, override, "host")).toMatch(new RegExp(`^${rule.replace(".", "\\.")}: `));
  });

  test("an override that exceeds the ceiling is refused with the ceiling's value", () => {
    expect(refusal(base, { proc: { memory: "5GiB" } }, "host")).toBe(
      "proc.memory: 5GiB was requested, the ceiling is 4GiB",
    );
  });

  test("cannot choose a runner below isolation.minimum", () => {
    expect(refusal(parsePolicy({ isolation: { minimum: "process" } }), { isolation: { runner: "wasm" } }, "host")).toBe(
      "isolation.runner: wasm is below isolation.minimum, which is process",
    );
  });

  test("cannot replace the policy's runner with a weaker one", () => {
    expect(
      refusal(parsePolicy({ isolation: { runner: "gvisor" } }), { isolation: { runner: "wasm" } }, "host"),
    ).toContain("gvisor");
  });

  test("cannot mount a system directory or a relative path", () => {
    expect(() => mergePolicy(base, { fs: { workspace: "/etc" } }, "host")).toThrow(
      expect.objectContaining({ code: "policy_invalid" }),
    );
    expect(() => mergePolicy(base, { fs: { workspace: "work" } }, "host")).toThrow(
      "fs.workspace: expected an absolute path",
    );
  });

  test("an override with a typo is an error, not ignored", () => {
    expect(() => mergePolicy(base, { proc: { memry: "1GiB" } } as PolicyOverride, "host")).toThrow(
      "proc.memry: unknown rule (did you mean memory?)",
    );
  });
});

describe("mergePolicy", () => {
  test("does not change its base, and reports no changes when there are none", () => {
    const before = structuredClone(wide);
    const { policy, changes } = mergePolicy(
      wide,
      { proc: { memory: "1024MiB" }, env: { LANG: "C", TZ: "UTC" } },
      "model",
    );
    expect(changes).toEqual([]);
    expect(policy).toEqual(wide);
    mergePolicy(wide, { proc: { pids: 8 } }, "model");
    expect(wide).toEqual(before);
  });

  test("has a row for every rule", () => {
    for (const name of Object.keys(mergeRules)) expect(showRule(wide, name as PolicyFieldName)).toBeTypeOf("string");
    expect(Object.keys(mergeRules)).toEqual(["isolation.runner", ...ruleNames]);
  });
});

/** Does not use the table under test, so a mistake there cannot hide itself here. */
function expectNotWider(to: Policy, from: Policy): void {
  for (const key of ["timeoutMs", "memoryBytes", "diskBytes", "outputBytes", "cpus", "pids", "files"] as const) {
    expect(to.proc[key]).toBeLessThanOrEqual(from.proc[key]);
  }
  expect(!to.proc.background || from.proc.background).toBe(true);
  const levels: readonly string[] = isolationLevels;
  expect(levels.indexOf(to.isolation.minimum)).toBeGreaterThanOrEqual(levels.indexOf(from.isolation.minimum));
  expect([undefined, from.fs.workspace]).toContain(to.fs.workspace);
  expect([undefined, from.fs.deps]).toContain(to.fs.deps);
  expect([undefined, from.kernel.python]).toContain(to.kernel.python);
  for (const mount of to.fs.mounts) {
    const own = from.fs.mounts.find(({ source, target }) => source === mount.source && target === mount.target);
    expect(own?.mode === "rw" || (own !== undefined && mount.mode === "ro")).toBe(true);
  }
  const [denied, wasDenied] = [denyMatcher(to.fs.deny), denyMatcher(from.fs.deny)];
  for (const path of ["secret/x", ".npmrc", ".env", ".ssh/id_rsa", "a/b"]) {
    if (wasDenied(path) !== undefined) expect(denied(path)).toBeDefined();
  }
  for (const path of to.fs.load) expect(from.fs.load).toContain(path);
  expect(!to.net.enabled || from.net.enabled).toBe(true);
  for (const key of ["connections", "requests", "sentBytes", "receivedBytes"] as const) {
    expect(to.net[key]).toBeLessThanOrEqual(from.net[key]);
  }
  for (const host of to.net.allowlist)
    expect(from.net.allowlist.some((wideHost) => hostPatternCovers(wideHost, host))).toBe(true);
  for (const host of from.net.deny) expect(to.net.deny).toContain(host);
  for (const [name, value] of Object.entries(to.env)) expect(from.env[name]).toBe(value);
  for (const name of to.kernel.preload) expect(from.kernel.preload).toContain(name);
}

function randomOverride(random: () => number): PolicyOverride {
  const pick = <T>(...choices: T[]): T => choices[Math.floor(random() * choices.length)] as T;
  const some = <T>(...choices: T[]): T[] => choices.filter(() => random() < 0.4);
  const sections: PolicyOverride = {
    isolation: pick<PolicyOverride["isolation"]>(
      { minimum: pick(...isolationLevels) },
      { runner: pick("auto", ...runnerNames) },
    ),
    fs: pick<PolicyOverride["fs"]>(
      { workspace: pick(null, "/srv/work", "/srv/work/x", "/srv") },
      { deps: pick(null, "/srv/deps", "/srv/deps2") },
      { mounts: some({ source: pick("/srv/a", "/srv/b"), target: pick("/a", "/c"), mode: pick("ro", "rw") }) },
      { deny: some("secret/**", "more", "!.npmrc", "!.env*", "secret/**") },
      { load: some("/srv/data", "/srv/one.csv", "/srv/data/x", "/srv") },
    ),
    net: pick<PolicyOverride["net"]>(
      { enabled: pick(true, false) },
      { allowlist: some("packages.example", "evil.org", "x.example.com", "*.y.example.com", "example.com") },
      { deny: some("bad.example.com", "other.org") },
      { connections: pick(4, 64), requests: pick(1, 50), sent: pick("1KiB", "4GiB"), received: pick("1KiB", "64GiB") },
    ),
    proc: pick<PolicyOverride["proc"]>(
      { timeout: pick("1s", "60s", "2m"), memory: pick("64MiB", "1GiB", "3GiB") },
      { cpus: pick(0.5, 2, 3), pids: pick(8, 100, 101), files: pick(64, 4096) },
      { disk: pick("1MiB", "1GiB"), output: pick("1KB", "1GB"), background: pick(true, false) },
    ),
    env: pick<Record<string, string>>({}, { TZ: "UTC" }, { TZ: "x" }, { LANG: "C", TZ: "UTC" }, { OTHER: "y" }),
    session: { recovery: pick("auto", "required", "off") },
    kernel: pick<PolicyOverride["kernel"]>(
      { preload: some("numpy", "pandas", "os") },
      { python: pick(null, "/usr/bin/python3", "/x") },
    ),
  };
  return Object.fromEntries(Object.entries(sections).filter(() => random() < 0.35)) as PolicyOverride;
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}
