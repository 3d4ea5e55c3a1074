import { FakeFile } from "./fake-api.ts";
import { corpus } from "./hostile-corpus.ts";
import { fakeMe, fakeSession, fakeStatistics } from "./list-answers.ts";

const at = "2026-11-17T12:00:00.000Z";
const each = <Item>(make: (text: string, index: number) => Item): Item[] => corpus.map(make);
const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Answers of a service whose cells and tenants wrote a hostile text into every field that is theirs. */
export function hostileAnswers(pathname: string): unknown {
  if (pathname.startsWith("/v1/display/")) return new FakeFile("<p>display</p>", "text/html");
  const [, rest] = /^\/v1\/sessions\/[^/]+(\/.*)?$/.exec(pathname) ?? [];
  if (pathname.startsWith("/v1/sessions/")) return ofSession(rest ?? "");
  return ofService(pathname);
}

function ofService(pathname: string): unknown {
  switch (pathname) {
    case "/v1/me": {
      const service = { ...fakeMe.service, models: corpus, version: corpus[1], policy_hash: corpus[23] };
      return { ...fakeMe, token: corpus.slice(0, 10).join(" "), service };
    }
    case "/v1/sessions":
      return { sessions: each((text, index) => ({ ...hostileSession(text, index), session_id: text })) };
    case "/v1/usage":
      return { sessions: each((text) => ({ session_id: text, namespace: text, samples: [usageSample] })) };
    case "/v1/statistics": {
      const runs = Object.fromEntries(corpus.map((text) => [text, 1]));
      const samples = [0, 1, 2].map((step) => ({ ...fakeStatistics(step), runs }));
      const tenants = each((text) => ({
        ...{ namespace: text, tenant: text, sessions: 1, running: 0, runs: 1, refused: 0, cost_usd: 0 },
      }));
      return { interval_ms: 5000, samples, tenants };
    }
    case "/v1/audit":
      return {
        entries: each((text, index) => ({
          ...{ chain: text, seq: index, time: at, type: index % 2 ? "run.ended" : text, session: text, run: index },
          ...{ code: text, host: text, path: text, [text.slice(0, 60)]: text, nested: { [text.slice(0, 60)]: [text] } },
        })),
        next: "x",
        more: false,
      };
    case "/v1/audit/verify":
      return { sound: false, chains: [], problems: each((message, line) => ({ message, line, chain: message })) };
    default:
      return undefined;
  }
}

function ofSession(rest: string): unknown {
  if (rest.startsWith("/files/")) return hostileFile(decodeURIComponent(rest.slice("/files/".length)));
  if (rest.startsWith("/trajectories/")) return { ...trajectory, agent: agent(0) };
  switch (rest) {
    case "":
      return { ...hostileSession(corpus[0] ?? "", 1), namespace: undefined, tenant: undefined };
    case "/history":
      return { history: each(historyEntry) };
    case "/runs":
      return { runs: [] };
    case "/cell":
      return { receipt, languages: corpus, python: corpus[0] };
    case "/variables":
      return { variables: each((text) => ({ name: text, type: text, size: 1, summary: text })), total: corpus.length };
    case "/values":
      return { form: "repr", text: corpus.join("\n"), characters: 1000, is_cut: true };
    case "/files":
      return {
        files: [...each((text) => file(text.replaceAll("/", "∕"))), ...previews.map(file)],
        ...{ next: null, left_out: 0, truncated: false },
      };
    case "/lineage":
      return lineage;
    case "/checkpoints":
      return { checkpoints: each((name) => ({ name, run: 1, created_at: at, size: 1, state: name })) };
    case "/network":
      return { enabled: true, entries: each(networkEntry), dropped: 3 };
    case "/usage":
      return usage;
    case "/models":
      return {
        spend: { calls: 9, input_tokens: 1, output_tokens: 1, cost_usd: 0.1, budget_usd: 1, max_calls: 50 },
        calls: each((text) => ({
          ...{ at, by: text, purpose: text, model: text, input_tokens: 1, output_tokens: 1, cost_usd: 0.1 },
          ...{ duration_ms: 1, status: text, source: text },
        })),
        trajectories: each((text, index) => ({
          ...{
            id: text,
            started_at: at,
            title: text,
            status: text,
            calls: 1,
            cost_usd: 0,
            parent: index ? null : text,
          },
        })),
      };
    case "/displays":
      return { url: "/v1/display/x", expires_at: at };
    default:
      return undefined;
  }
}

function hostileSession(text: string, index: number): object {
  return {
    ...{ ...fakeSession(index), namespace: text, tenant: text, runner: text, problem: text, policy_hash: text },
    checkpoints: [{ name: text, run: 1, created_at: at, size: 1 }],
  };
}

const usageSample = { at, cpu_percent: 1, memory_bytes: 1 };

function historyEntry(text: string, index: number): object {
  const display = (mime_type: string, content: string, number: number) => ({
    ...{ type: "display", text: null, display: number, mime_type, data_base64: base64(content) },
  });
  return {
    ...{ run: index + 1, ended_at: at, language: text, code: text, status: index % 3 ? "error" : text, duration_ms: 1 },
    outputs: {
      events: [
        { type: "stdout", text: `${text}\n`, display: null, mime_type: null, data_base64: null },
        { type: "stderr", text, display: null, mime_type: null, data_base64: null },
        display("text/html", text, 1),
        display("image/svg+xml", text, 2),
        display("image/png", text, 3),
        display("application/json", JSON.stringify([{ [text]: text }, { [text]: [text] }]), 4),
        display("text/markdown", text, 5),
        display(text, text, 6),
      ],
      ...{ value: text, error: { type: text, message: text, traceback: text }, left_out_bytes: 5 },
    },
  };
}

const previews = ["x.csv", "x.json", "x.ipynb", "x.svg", "x.html", "x.txt", "x.png", "x.tsv"];

function file(name: string): object {
  return { name, size: 100_000, modified_at: at };
}

/** The content of a file of each kind that has a preview; every cell, key and text of it is hostile. */
function hostileFile(name: string): FakeFile {
  const quoted = (separator: string) =>
    each((text) => [text, text].map((cell) => JSON.stringify(cell)).join(separator));
  const contents: Record<string, string | Buffer> = {
    "x.csv": quoted(",").join("\n"),
    "x.tsv": quoted("\t").join("\n"),
    "x.json": JSON.stringify(Object.fromEntries(corpus.map((text) => [text, [text, { [text]: text }]]))),
    "x.ipynb": JSON.stringify({
      nbformat: 4,
      metadata: { kernelspec: { name: corpus[0] } },
      cells: each(notebookCell),
    }),
    "x.png": Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.from(corpus.join(""))]),
  };
  const body = contents[name] ?? corpus.join("\n").replaceAll("\0", "");
  return new FakeFile(body, "application/octet-stream", { "content-disposition": "attachment" });
}

function notebookCell(text: string, index: number): object {
  const data = { "text/html": text, "text/plain": text, "image/svg+xml": text, "image/png": text, [text]: text };
  const outputs = [
    { output_type: "stream", name: text, text },
    { output_type: "display_data", data, metadata: {} },
    { output_type: "error", ename: text, evalue: text, traceback: [text] },
  ];
  if (index % 3 === 0) return { cell_type: "markdown", source: text, metadata: {} };
  return { cell_type: index % 3 === 1 ? "code" : text, source: [text], outputs, execution_count: 1, metadata: {} };
}

const receipt = {
  ...{ runner: corpus[0], runner_version: corpus[1], policy_hash: corpus[2] },
  rules: each((text) => ({ rule: text, value: text, by: text, how: text })),
  ...{ notes: corpus, network: { carrier: "streams", reason: corpus[3] } },
};

const kinds = ["checkpoint", "rollback", "reset", "fork", "restored"];
const lineage = {
  nodes: [
    {
      id: "0",
      parent: null,
      kind: "start",
      name: null,
      run: 0,
      at,
      session_id: corpus[0],
      state: null,
      can_roll_back: false,
    },
    ...each((text, index) => ({
      ...{
        id: String(index + 1),
        parent: String(Math.floor(index / 2)),
        kind: kinds[index % kinds.length],
        name: text,
      },
      ...{ run: index, at, session_id: text, state: text, can_roll_back: true },
    })),
  ],
  ...{ current: { node: "3", run: 5 }, truncated: true },
};

function networkEntry(text: string, index: number): object {
  return {
    ...{ at, run: index, host: text, port: 443, verdict: index % 2 ? "allowed" : "denied", rule: text, reason: text },
    ...{ address: text, sent_bytes: 1, received_bytes: 1 },
  };
}

const usage = {
  limits: {
    ...{ memory_bytes: 1, cpus: 1, processes: 1, disk_bytes: 1, timeout_ms: 1, output_bytes: 1 },
    ...{ sent_bytes: null, received_bytes: null },
  },
  now: {
    ...{ cpu_percent: 1, memory_bytes: 1, peak_memory_bytes: 1, cpu_ms: 1, disk_bytes: 1, processes: 1, oom_kills: 1 },
  },
  samples: [usageSample, { ...usageSample, at: "2026-11-17T12:00:02.000Z" }],
  runs: each((status, run) => ({
    ...{ run, ended_at: at, status, duration_ms: 1, cpu_ms: 1, peak_memory_bytes: 1, sent_bytes: 1, received_bytes: 1 },
  })),
};

const hostileCall = (text: string) => ({
  ...{ purpose: text, model: text, prompt: text, text, status: text, cost_usd: 0, duration_ms: 1 },
  ...{ input_tokens: 1, output_tokens: 1 },
});

function agent(depth: number): object {
  const [text = ""] = corpus.slice(depth);
  return {
    ...{ id: text, title: text, model: text, sub_model: text, status: text, message: text, calls: 1, cost_usd: 0 },
    outputs: { [text]: corpus },
    inputs: each((name) => ({ name, type: name, chars: 1, preview: name })),
    turns: each((code, index) => ({
      ...{ turn: index, of: 9, started_at: at, duration_ms: 1, code, status: code, output: code },
      ...{ replies: [hostileCall(code)], calls: [hostileCall(code)] },
      agents: depth < 2 && index < 2 ? [agent(depth + 1)] : [],
    })),
  };
}

const trajectory = { id: corpus[0], started_at: at, title: corpus[0], status: "submitted", truncated: true };
