import fc, { type Arbitrary } from "fast-check";
import { isolationLevels } from "../../../src/policy/isolation.ts";
import type { PolicyFieldName } from "../../../src/policy/rules.ts";
import { type PolicyInput, runnerNames } from "../../../src/policy/schema.ts";

/**
 * Values for every rule of a policy, as people write them. They come from small sets, so that two policies often have
 * something in common: laws about values that never meet would prove nothing. `undefined` leaves the rule out.
 */
export const ruleValues: Record<PolicyFieldName, Arbitrary<unknown>> = {
  "isolation.runner": fc.constantFrom("auto", ...runnerNames),
  "isolation.minimum": fc.constantFrom(...isolationLevels),
  "fs.workspace": fc.constantFrom(undefined, "/srv/work", "/srv/other"),
  "fs.deps": fc.constantFrom(undefined, "/srv/deps", "/srv/deps2"),
  "fs.mounts": fc.uniqueArray(
    fc.record({
      source: fc.constantFrom("/srv/a", "/srv/a/b", "/srv/c"),
      target: fc.constantFrom("/a", "/c", "/workspace/a", "/workspace/c"),
      mode: fc.constantFrom("ro", "rw"),
    }),
    { maxLength: 3, selector: ({ target }) => target },
  ),
  "fs.deny": fc.subarray(["secret/**", "*.bak", "a/b", "!.env", "!.npmrc", "!//srv/x"]),
  "fs.load": fc.subarray(["/srv/data", "/srv/data/x", "/srv/one.csv"]),
  "net.enabled": fc.boolean(),
  "net.allowlist": hosts(4),
  "net.deny": hosts(3),
  "net.inspect": fc.oneof(fc.boolean(), hosts(3)),
  "net.rules": fc.array(
    fc.record(
      {
        host: host(),
        methods: fc.subarray(["GET", "POST"], { minLength: 1 }),
        paths: fc.subarray(["/v1/**", "/a"], { minLength: 1 }),
      },
      { requiredKeys: ["host"] },
    ),
    { maxLength: 3 },
  ),
  "net.secrets": fc.dictionary(
    fc.constantFrom("TOKEN", "KEY"),
    fc.record({
      from: fc.constantFrom("env:TOKEN", "env:OTHER"),
      hosts: fc.subarray(["example.com", "a.example.com"], { minLength: 1 }),
      headers: fc.subarray(["authorization", "x-key"]),
      query: fc.boolean(),
      plaintext: fc.boolean(),
    }),
  ),
  "net.connections": fc.integer({ min: 1, max: 4 }),
  "net.requests": fc.integer({ min: 1, max: 4 }),
  "net.sent": sizes(1),
  "net.received": sizes(1),
  "proc.timeout": durations(),
  "proc.cpus": fc.constantFrom(0.5, 1, 2),
  "proc.memory": sizes(16),
  "proc.pids": fc.integer({ min: 8, max: 11 }),
  "proc.files": fc.integer({ min: 32, max: 35 }),
  "proc.disk": sizes(1),
  "proc.exactDisk": fc.boolean(),
  "proc.output": sizes(1),
  "proc.background": fc.boolean(),
  env: fc.dictionary(fc.constantFrom("TZ", "LANGUAGE", "X"), fc.constantFrom("a", "b")),
  "session.recovery": fc.constantFrom("auto", "required", "off"),
  "session.idle": durations(),
  "session.lifetime": durations(),
  "session.limit": fc.integer({ min: 1, max: 4 }),
  "session.persist": fc.boolean(),
  "session.checkpoints": fc.integer({ min: 0, max: 3 }),
  "session.undo": fc.integer({ min: 0, max: 3 }),
  "session.pool": fc.integer({ min: 0, max: 3 }),
  "kernel.preload": fc.subarray(["numpy", "pandas", "json"]),
  "kernel.python": fc.constantFrom(undefined, "/usr/bin/python3", "/opt/py/bin/python"),
  "kernel.image": fc.constantFrom(undefined, "python:3.12-slim", "python:3.13-slim"),
  "kernel.packages": fc.record(
    {
      install: fc.subarray(["requests", "pandas==2.2", "numpy"]),
      index: fc.constantFrom([], [], ["https://packages.example/simple"]), // the same index is what makes two comparable
      allow: globs(["*", "numpy", "google-*", "google-auth"]),
      deny: globs(["evil", "google-*", "google-auth"]),
      hashes: fc.boolean(),
      minAge: durations(),
      inside: fc.boolean(),
      sdists: globs(["*", "numpy", "google-*", "google-auth"]),
    },
    { requiredKeys: [] },
  ),
  "llm.models": globs(["claude-*", "claude-haiku-*", "claude-haiku-4", "gpt-5", "gpt-*", "*-4", "*"]),
  "llm.calls": fc.integer({ min: 1, max: 4 }),
  "llm.tokens": fc.integer({ min: 1, max: 4 }),
  "llm.usd": fc.constantFrom(0, 0.5, 1, "unlimited"),
  "llm.depth": fc.integer({ min: 0, max: 3 }),
  "llm.concurrency": fc.integer({ min: 1, max: 4 }),
  "llm.promptChars": fc.integer({ min: 1, max: 4 }),
  "llm.callTimeout": durations(),
  "llm.timeout": durations(),
  "tools.allow": globs(["docs/*", "docs/search*", "docs/search", "*/search*", "*/*", "git*/create"]),
  "tools.calls": fc.integer({ min: 1, max: 4 }),
  "tools.timeout": durations(),
  "tools.arguments": sizes(1),
  "tools.result": sizes(1),
  "audit.enabled": fc.boolean(),
  "audit.code": fc.constantFrom("full", "hash"),
  "audit.durable": fc.boolean(),
  "audit.keep": sizes(1),
  "audit.age": fc.constantFrom("24h", "48h", "72h"),
};

/** A policy with a value for every rule, as an object that a file could hold. */
export function policyInputs(): Arbitrary<PolicyInput> {
  return fc.record(ruleValues).map((values) => {
    const input: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(values)) {
      const [section = "", rule] = name.split(".");
      if (value === undefined) continue;
      if (rule === undefined) input[section] = value;
      else input[section] = { ...(input[section] as object | undefined), [rule]: value };
    }
    return input as PolicyInput;
  });
}

function host(): Arbitrary<string> {
  const names = ["example.com", "a.example.com", "*.example.com", "*.a.example.com", "api.openai.com", "*.openai.com"];
  return fc
    .tuple(fc.constantFrom(...names), fc.constantFrom("", "", ":80", ":443", ":22"))
    .map(([name, port]) => name + port);
}

function hosts(maxLength: number): Arbitrary<string[]> {
  return fc.uniqueArray(host(), { maxLength });
}

function globs(choices: string[]): Arbitrary<string[]> {
  return fc.subarray(choices, { maxLength: 3 });
}

function sizes(least: number): Arbitrary<string> {
  return fc.integer({ min: least, max: least + 3 }).map((mebibytes) => `${mebibytes}MiB`);
}

function durations(): Arbitrary<string> {
  return fc.constantFrom("1s", "2s", "1m");
}
