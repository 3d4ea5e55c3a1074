import type { Answers } from "./fake-api.ts";

const start = Date.parse("2026-11-17T12:00:00.000Z");
const at = (second: number) => new Date(start + second * 1000).toISOString();
const policyHash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

export const fakeMe = {
  token: "alice",
  namespace: "ns-000000000001",
  scopes: ["admin"],
  expires_at: null,
  service: {
    ...{ version: "1.2.3", started_at: at(0), policy_hash: policyHash },
    ...{ audit: true, network: true, models: ["anthropic/claude-*"], persist: false, gateways: false, undo: 0 },
  },
};

/** A session of the fake; every fifth is busy, every seventh saved. */
export function fakeSession(index: number): Record<string, unknown> {
  return {
    session_id: `s-${index}`,
    state: index % 7 === 6 ? "saved" : "live",
    busy: index % 5 === 0,
    ...{ persistent: false, runs: index, runner: index % 3 === 0 ? "wasm" : "process" },
    ...{ created_at: at(index), used_at: at(1000 + index), checkpoints: [], saved_variables: null },
    ...{ skipped_variables: null, snapshot_size: null, shared_cell: 1, problem: null, policy_hash: policyHash },
    ...{ namespace: `ns-00000000000${index % 4}`, tenant: ["ann", "alice", "bob", "eve"][index % 4] },
  };
}

/** Answers for the lists and the panels of one session, with as many sessions as a test wants. */
export function listAnswers({ sessions }: { sessions: number }): Answers {
  const list = Array.from({ length: sessions }, (_, index) => fakeSession(index));
  const wave = (index: number, length: number) =>
    Array.from({ length }, (_, step) => ({
      at: at(step * 2),
      cpu_percent: 50 + 50 * Math.sin((step + index) / 4),
      memory_bytes: (40 + index + step) * 1024 * 1024,
    }));
  return {
    "/v1/me": fakeMe,
    "/v1/sessions": { sessions: list },
    "/v1/usage": {
      sessions: list.map(({ session_id, namespace }, index) => ({ session_id, namespace, samples: wave(index, 60) })),
    },
    "/v1/statistics": {
      interval_ms: 5000,
      samples: Array.from({ length: 120 }, (_, step) => fakeStatistics(step)),
      tenants,
    },
    "/v1/sessions/s-1": fakeSession(1),
    "/v1/sessions/s-1/usage": { ...usage, samples: wave(1, 60) },
    "/v1/sessions/s-1/network": network,
    "/v1/sessions/s-1/models": models,
    "/v1/sessions/s-1/trajectories/t-1": trajectory,
  };
}

export function fakeStatistics(step: number): object {
  const many = Math.round(20 + 10 * Math.sin(step / 8));
  return {
    ...{ at: at(step * 5), runs_per_second: many / 5, runs: { ok: many, error: 2, timeout: step % 9 === 0 ? 1 : 0 } },
    ...{ latency_ms: { p50: 12 + (step % 5), p95: 80 + (step % 7), p99: 300 + (step % 11) } },
    ...{ requests_per_second: many / 2, refused: step % 20 === 0 ? 3 : 0, sessions: 12, running: 3 },
    ...{ pool: { ready: 2, hits: many, misses: 1 }, rss_bytes: 180_000_000 + step * 100_000, cost_usd: step / 1000 },
  };
}

const tenants = [
  { namespace: "ns-000000000001", tenant: "alice", sessions: 5, running: 1, runs: 120, refused: 0, cost_usd: 0.12 },
  { namespace: "ns-000000000002", tenant: "bob", sessions: 7, running: 2, runs: 900, refused: 3, cost_usd: 0 },
];

const usage = {
  limits: {
    ...{ memory_bytes: 128 * 1024 * 1024, cpus: 1, processes: 128, disk_bytes: 1024 ** 3 },
    ...{ timeout_ms: 30_000, output_bytes: 1024 ** 2, sent_bytes: 4 * 1024 ** 3, received_bytes: 64 * 1024 ** 3 },
  },
  now: {
    ...{ cpu_percent: 98.5, memory_bytes: 100 * 1024 * 1024, peak_memory_bytes: 120 * 1024 * 1024, cpu_ms: 1520 },
    ...{ disk_bytes: 20 * 1024 * 1024, processes: null, oom_kills: 0 },
  },
  runs: [1, 2, 3].map((run) => ({
    ...{ run, ended_at: at(run * 10), status: run === 2 ? "error" : "ok", duration_ms: run * 800, cpu_ms: run * 700.5 },
    ...{ peak_memory_bytes: 40 * 1024 * 1024, sent_bytes: 0, received_bytes: 120 },
  })),
};

const network = {
  enabled: true,
  entries: [
    {
      at: at(10),
      run: 1,
      host: "packages.example",
      port: 443,
      verdict: "allowed",
      rule: "net.allowlist: packages.example",
    },
    {
      at: at(11),
      run: 1,
      host: "evil.example",
      port: 443,
      verdict: "denied",
      rule: "net.allowlist",
    },
    { at: at(20), run: 2, host: "169.254.169.254", port: 80, verdict: "denied", rule: "metadata of the cloud" },
  ].map((entry, index) => ({
    ...{ ...entry, reason: index === 0 ? null : "not in net.allowlist", address: index === 0 ? "127.0.0.1" : null },
    ...{ sent_bytes: index === 0 ? 512 : null, received_bytes: index === 0 ? 40_960 : null },
  })),
  dropped: 0,
};

const call = (by: string, index: number) => ({
  ...{ at: at(index), by, purpose: by.includes(".") ? "sub" : "root", model: "anthropic/claude-sonnet-4-5" },
  ...{
    input_tokens: 1200 + index,
    output_tokens: 240,
    cost_usd: 0.0072,
    duration_ms: 900,
    status: "ok",
    source: "model",
  },
});

const models = {
  spend: {
    ...{ calls: 5, input_tokens: 6000, output_tokens: 1200, cost_usd: 0.036, budget_usd: 0.5, max_calls: 50 },
  },
  calls: ["rlm-1", "rlm-1", "rlm-1.1", "rlm-1.1", "rlm-1.2"].map(call),
  trajectories: [
    {
      id: "t-1",
      started_at: at(5),
      title: "question -> answer",
      status: "submitted",
      calls: 5,
      cost_usd: 0.036,
      parent: null,
    },
  ],
};

const agent = (id: string, title: string) => ({
  ...{ id, title, status: "submitted", model: "anthropic/claude-sonnet-4-5", outputs: { answer: 42 }, message: null },
  inputs: [{ name: "text", type: "str", chars: 120_000, preview: "It was a bright cold day" }],
});

const reply = {
  ...{ purpose: "root", model: "anthropic/claude-sonnet-4-5", prompt: "Continue.", text: "I split the text first." },
  ...{ status: "ok", cost_usd: 0.0072, duration_ms: 900 },
};

const turn = (number: number, more: object = {}) => ({
  ...{ turn: number, code: "parts = split(text)\nprint(len(parts))", output: "12", status: "ok", duration_ms: 14 },
  ...{ of: 8, replies: [reply], calls: [], agents: [], ...more },
});

const trajectory = {
  agent: {
    ...agent("rlm-1", "question -> answer"),
    turns: [
      turn(1),
      turn(2, {
        agents: [{ ...agent("rlm-1.1", "part -> sum"), turns: [turn(1)] }],
      }),
    ],
  },
  truncated: false,
};
