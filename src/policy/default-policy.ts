import { noPackages } from "./package-rules.ts";
import type { Policy } from "./schema.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const kib = 1024;
const mib = 1024 * kib;
const gib = 1024 * mib;

/**
 * The empty policy as the schema parses it. Most runs of the command line have no policy file, and building the schema and
 * parsing with it would take 25 ms or more. A test compares this with the schema.
 */
export function defaultPolicy(): Policy {
  return {
    version: 1,
    isolation: { runner: "auto", minimum: "wasm" },
    fs: { mounts: [], deny: [], load: [] },
    net: {
      enabled: false,
      allowlist: [],
      deny: [],
      inspect: [],
      rules: [],
      secrets: {},
      connections: 64,
      requests: 50,
      sentBytes: 4 * gib,
      receivedBytes: 64 * gib,
    },
    proc: {
      cpus: 1,
      pids: 64,
      files: 1024,
      exactDisk: false,
      background: false,
      timeoutMs: 30_000,
      memoryBytes: 512 * mib,
      diskBytes: 256 * mib,
      outputBytes: mib,
    },
    env: {},
    session: {
      recovery: "auto",
      limit: 32,
      persist: false,
      checkpoints: 8,
      undo: 0,
      pool: 0,
      idleMs: 30 * minuteMs,
      lifetimeMs: 24 * hourMs,
    },
    kernel: { preload: [], packages: noPackages() },
    llm: {
      models: [],
      calls: 50,
      tokens: 2_000_000,
      usd: 1,
      depth: 1,
      concurrency: 8,
      promptChars: 400_000,
      callTimeoutMs: 2 * minuteMs,
      timeoutMs: 10 * minuteMs,
    },
    tools: { allow: [], calls: 100, timeoutMs: 30_000, argumentsBytes: 256 * kib, resultBytes: mib },
    audit: { enabled: true, code: "full", durable: false, keepBytes: gib, keepMs: 2160 * hourMs },
    overrides: { ceiling: {} },
  };
}
