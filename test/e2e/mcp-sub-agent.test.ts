import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Script,
  type ScriptedModelServer,
  type SeenRequest,
  scriptedKey,
  startScriptedModelServer,
} from "../fakes/scripted-model-server.ts";
import { availableRunners } from "./codecell-process.ts";
import { McpPair } from "./mcp-client.ts";

const model = "anthropic/claude-haiku-4-5";
const code = (...lines: string[]) => `Let me look.\n\n\`\`\`python\n${lines.join("\n")}\n\`\`\``;
const isAgent = ({ system }: SeenRequest) => system !== undefined;
const turnOf = ({ messages }: SeenRequest) => (messages.length + 1) / 2;

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "codecell-sub-agent-"));
  const lines = Array.from({ length: 3000 }, (_, at) => `line ${at}: ${at === 2345 ? "the code is 7391" : "nothing"}`);
  await writeFile(join(root, "log.txt"), lines.join("\n"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** A real client, the built server, and a FAKE model that plays the script of the test. */
async function opened(server: ScriptedModelServer, runner: string, llm: object = {}, env: Record<string, string> = {}) {
  const policy = join(root, `${runner}-${performance.now()}.policy.json`);
  const rules = {
    isolation: { runner, minimum: "wasm" },
    fs: { load: [root] },
    proc: { timeout: "60s" },
    llm: { models: [model], ...llm },
  };
  await writeFile(policy, JSON.stringify(rules));
  return McpPair.open("stdio", "legacy", ["--policy", policy, "--structured"], {
    ...{ CODECELL_MODEL: model, ANTHROPIC_API_KEY: scriptedKey, ANTHROPIC_BASE_URL: server.url, ...env },
  });
}

/** Finds the number in two turns. */
const findingCode: Script = (request) =>
  turnOf(request) === 1
    ? code("import re", "found = re.findall(r'code is (\\d+)', log)", "question = 'changed'", "print(found)")
    : code("SUBMIT(code=int(found[0]), lines=[log.count('\\n') + 1])");
const task = {
  signature: "question, log -> code: int, lines: list[int]",
  inputs: { question: "Which code?", log: { var: "text" } },
};

const runners = await availableRunners();
/** The fastest that is here, for what the host does: the gateway to models and the checks of arguments are the same for every runner. */
const fastest = runners.includes("process") ? "process" : "wasm";

describe.each(runners)("a sub-agent over MCP in the %s runner, with a scripted model", (runner) => {
  let script: Script;
  let server: ScriptedModelServer;
  let pair: McpPair;
  beforeAll(async () => {
    server = await startScriptedModelServer("anthropic", (request) =>
      typeof script === "function" ? script(request) : "no script",
    );
    pair = await opened(server, runner);
    await pair.call("rlm_load", { path: join(root, "log.txt"), var_name: "text" });
  });
  afterAll(async () => {
    await pair[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  test("returns typed outputs, stores them, and leaves the session's variables as they are", async () => {
    script = findingCode;
    await pair.call("rlm_exec", { code: "question = 'mine'" });
    const first = server.requests.length;
    const { facts, text, isError } = await pair.call("rlm_sub_agent", task);
    expect(isError, text).toBe(false);
    expect(facts).toMatchObject({
      finish: "submitted",
      outputs: { code: 7391, lines: [3000] },
      model_calls: 2,
      turn: 2,
    });
    expect(text).toMatch(
      /^\{"code":7391,"lines":\[3000\]\}\n2 turns, 2 model calls, \$0\.\d+; stored as _sub_agent_result/,
    );
    expect(JSON.stringify(server.requests[first]?.body)).not.toContain("7391");
    const got = await pair.call("rlm_get", { name: "_sub_agent_result", query: "_sub_agent_result['code'] + 1" });
    expect(got.text).toBe("7392");
    expect((await pair.call("rlm_get", { name: "question" })).text).toContain("mine");
    const { text: found } = await pair.call("rlm_exec", { code: "print('found' in globals(), 'log' in globals())" });
    expect(found).toContain("False False");
  });

  test("continues in the background, and rlm_run waits for it, shows its state and its turns", async () => {
    let answer = () => {};
    const gate = new Promise<void>((resolve) => {
      answer = resolve;
    });
    script = async (request) => {
      const reply = (findingCode as (request: SeenRequest) => string)(request);
      return turnOf(request) === 1 ? reply : { text: reply, after: gate };
    };
    const started = await pair.call("rlm_sub_agent", { ...task, wait: 0 });
    expect(started.facts).toMatchObject({ status: "running", finish: null, outputs: null });
    const run_id = String(started.facts.run_id);
    expect(started.text).toContain(`rlm_run(run_id="${run_id}")`);
    const status = async () => (await pair.call("rlm_run", { run_id, action: "status" })).text;
    await expect
      .poll(status, { timeout: 20_000 })
      .toMatch(/^running: turn 2 of 20, 1 model call, \$0\.\d+\. next: rlm_run/);
    answer();
    const ended = await pair.call("rlm_run", { run_id });
    expect(ended.facts).toMatchObject({ status: "finished", outputs: { code: 7391 } });
    const { text } = await pair.call("rlm_run", { run_id, action: "trajectory" });
    expect(text).toMatch(/turn 1\/20.*\n\s+code: import re/);
    expect(text).toContain("['7391']");
    expect(text.length).toBeLessThan(1200);
  });

  test("is cancelled, and the request to the model with it", async () => {
    script = () => ({ fault: "hang" });
    const at = server.requests.length;
    const { facts } = await pair.call("rlm_sub_agent", { ...task, wait: 0 });
    await server.received(at);
    const cancelled = await pair.call("rlm_run", { run_id: facts.run_id, action: "cancel" });
    expect(cancelled.facts).toMatchObject({ status: "finished", finish: "cancelled", outputs: null });
    expect(cancelled.text).toMatch(/^cancelled: .*Nothing was stored\.$/);
    await server.left(at);
  });

  test("code of rlm_exec asks a model about parts and can hand a subtask to a sub-agent", async () => {
    script = (request) =>
      isAgent(request) ? code("SUBMIT(size=len(part))") : `saw ${request.messages.at(-1)?.text.length}`;
    const batch = "print(llm_query('abc'), llm_query_batched(['a', 'ab']))";
    expect((await pair.call("rlm_exec", { code: batch })).text).toContain("saw 3 ['saw 1', 'saw 2']");
    const agent = await pair.call("rlm_exec", { code: "print(rlm_query('part -> size: int', part=text[:50]))" });
    expect(agent.text).toContain(
      runner === "wasm" ? "does not support forks: pass the text to llm_query" : "{'size': 50}",
    );
  });

  test.runIf(runner === fastest).each([
    ["a signature without an arrow", { ...task, signature: "question log code" }, /->/],
    ["an unknown type", { ...task, signature: "question, log -> code: number" }, /number/],
    ["an input that is missing", { ...task, inputs: { question: "x" } }, /log/],
    ["an input that the signature does not have", { ...task, inputs: { ...task.inputs, extra: 1 } }, /extra/],
    ["a variable that does not exist", { ...task, inputs: { question: "x", log: { var: "nowhere" } } }, /nowhere/],
    ["an input of the wrong type", { signature: "n: int -> m: int", inputs: { n: "x" } }, /n\b.*int/],
    ["a limit of the wrong type", { ...task, limits: { max_turns: 0 } }, /max_turns/],
  ])("says what is wrong with %s, in few words, and asks no model", async (_, args, words) => {
    const before = server.requests.length;
    const { text } = await pair.call("rlm_sub_agent", args);
    expect(text).toMatch(words);
    expect(text.length).toBeLessThan(500);
    expect(server.requests).toHaveLength(before);
  });

  test("an unknown run is an error that says which one to use", async () => {
    const { isError, text } = await pair.call("rlm_run", { run_id: "rlm-nowhere" });
    expect(isError).toBe(true);
    expect(text).toMatch(/run_id that rlm_sub_agent returned/);
  });
});

describe("models over MCP", () => {
  const runner = fastest;
  let server: ScriptedModelServer;
  let replies: Script;
  let pair: McpPair;
  beforeAll(async () => {
    server = await startScriptedModelServer("anthropic", (request) =>
      typeof replies === "function" ? replies(request) : "no script",
    );
    pair = await opened(server, runner);
  });
  afterAll(async () => {
    await pair[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  const toolsOf = async (pair: McpPair) => (await pair.client.listTools()).tools;

  test("the tools for sub-agents are listed only where a model can be called", async () => {
    await using without = await opened(server, runner, { models: [] });
    await using keyless = await opened(server, runner, {}, { ANTHROPIC_API_KEY: "" });
    const names = async (one: McpPair) => (await toolsOf(one)).map(({ name }) => name);
    const plain = await names(without);
    expect(plain).not.toContain("rlm_sub_agent");
    expect(plain).not.toContain("rlm_run");
    expect(await names(keyless)).toEqual(plain);
    expect((await names(pair)).filter((name) => !plain.includes(name)).sort()).toEqual(["rlm_run", "rlm_sub_agent"]);
    const same = (await toolsOf(pair)).filter(({ name }) => plain.includes(name));
    expect(same).toEqual(await toolsOf(without));
    expect(JSON.stringify(await toolsOf(without))).not.toMatch(/sub-agent|llm_query/);
  });

  test("an exhausted budget is named with the rule that the operator can raise", async () => {
    replies = (request) => (isAgent(request) ? code("print(1)") : "answer");
    await using poor = await opened(server, runner, { usd: 0.01 });
    const before = server.requests.length;
    const { facts, text } = await poor.call("rlm_sub_agent", { signature: "q -> a", inputs: { q: "x" } });
    expect(facts).toMatchObject({ finish: "limit:usd", outputs: null, usd: 0 });
    expect(text).toContain("llm.usd");
    expect(text.length).toBeLessThan(400);
    expect(server.requests).toHaveLength(before);
    const run = await poor.call("rlm_exec", { code: "llm_query('x' * 1000)" });
    expect(run.text).toMatch(/budget|usd|money|\$0\.01/);
    expect(server.requests).toHaveLength(before);
  });

  test("a call may lower the limits of the policy, and not raise them", async () => {
    replies = () => code("print(1)");
    const ask = { signature: "q -> a", inputs: { q: "x" } };
    const lower = await pair.call("rlm_sub_agent", { ...ask, limits: { max_turns: 2 } });
    expect(lower.facts).toMatchObject({ finish: "limit:turns", turn: 2 });
    const higher = await pair.call("rlm_sub_agent", { ...ask, limits: { max_turns: 500 } });
    expect(higher.facts).toMatchObject({ finish: "limit:turns", turn: 20 });
  });

  test("a model that the policy does not allow is named with those that it allows", async () => {
    await using other = await opened(server, runner, {}, { CODECELL_MODEL: "anthropic/claude-opus-5-5" });
    const before = server.requests.length;
    const { isError, text } = await other.call("rlm_sub_agent", { signature: "q -> a", inputs: { q: "x" } });
    expect(isError).toBe(true);
    expect(text).toContain("claude-opus-5-5");
    expect(text).toContain(model);
    const run = await other.call("rlm_exec", { code: "llm_query('x')" });
    expect(run.text).toMatch(/llm_query/);
    expect(server.requests).toHaveLength(before);
  });

  test("a model that fails is reported with what the server said", async () => {
    replies = () => ({ fault: "status", status: 400, message: "credit balance is too low" });
    const { facts, text } = await pair.call("rlm_sub_agent", { signature: "q -> a", inputs: { q: "x" } });
    expect(facts).toMatchObject({ finish: "error" });
    expect(text).toContain("credit balance is too low");
    expect(text).not.toContain(scriptedKey);
  });
});
