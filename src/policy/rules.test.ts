import { expect, test } from "vitest";
import { parsePolicy } from "./file/parse-policy.ts";
import { policyRules } from "./rules.ts";

test("policyRules lists every rule once, in the order of the file", () => {
  expect(policyRules(parsePolicy({})).map(({ rule }) => rule)).toEqual([
    ...[
      "isolation.minimum",
      "fs.workspace",
      "fs.deps",
      "fs.mounts",
      "fs.deny",
      "fs.load",
      "net.enabled",
      "net.allowlist",
      "net.deny",
      "net.inspect",
      "net.rules",
      "net.secrets",
      ...["net.connections", "net.requests", "net.sent", "net.received"],
    ],
    ...[
      "proc.timeout",
      "proc.cpus",
      "proc.memory",
      "proc.pids",
      "proc.files",
      "proc.disk",
      "proc.exactDisk",
      "proc.output",
      "proc.background",
    ],
    ...["env", "session.recovery", "session.idle", "session.lifetime", "session.limit", "session.persist"],
    ...["session.checkpoints", "session.undo", "session.pool", "kernel.preload", "kernel.python", "kernel.image"],
    "kernel.packages",
    ...["llm.models", "llm.calls", "llm.tokens", "llm.usd", "llm.depth", "llm.concurrency", "llm.promptChars"],
    ...["llm.callTimeout", "llm.timeout"],
    ...["tools.allow", "tools.calls", "tools.timeout", "tools.arguments", "tools.result"],
    ...["audit.enabled", "audit.code", "audit.durable", "audit.keep", "audit.age"],
  ]);
});

test("policyRules shows values as people write them, without the values of env", () => {
  const policy = parsePolicy({
    fs: { mounts: [{ source: "/srv/data", target: "/data" }], deny: ["*.csv"] },
    proc: { timeout: "5m", memory: "2GiB" },
    env: { API_KEY: "hunter2" },
  });
  const values = Object.fromEntries(policyRules(policy).map(({ rule, value }) => [rule, value]));
  expect(values).toMatchObject({
    "proc.timeout": "5m",
    "proc.memory": "2GiB",
    env: "API_KEY",
    "fs.mounts": "/srv/data → /data (ro)",
  });
  expect(values["fs.deny"]).toMatch(/^built-in \(\d+\), \*\.csv$/);
  expect(JSON.stringify(values)).not.toContain("hunter2");
});
