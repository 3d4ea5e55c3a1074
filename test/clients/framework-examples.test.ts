import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage } from "@langchain/core/messages";
import * as agents from "@openai/agents";
import { assistantMessage, functionCall, ScriptedModel } from "@openai/agents/testing";
import * as ai from "ai";
import { MockLanguageModelV3 } from "ai/test";
import * as deepagents from "deepagents";
import { fakeModel } from "langchain";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Codecell } from "../../src/index.ts";
import { openCodecell } from "./framework-sessions.ts";

const code = `primes = []
n = 2
while len(primes) < 1000:
    if all(n % p for p in primes if p * p <= n): primes.append(n)
    n += 1
print(sum(primes))`;
const sum = "3682913";

let stateHome: string;
beforeAll(async () => {
  stateHome = await mkdtemp(join(tmpdir(), "codecell-examples-"));
  vi.stubEnv("XDG_STATE_HOME", stateHome);
  agents.setTracingDisabled(true);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(stateHome, { recursive: true, force: true });
});

test("the example of the AI SDK runs with a fake model", async () => {
  const { main } = await exampleOf("ai-sdk");
  expect(await main(aiModel())).toBe(sum);
});

test("the example of OpenAI Agents runs with a fake model", async () => {
  const { main } = await exampleOf("openai-agents");
  const model = openAiModel([functionCall("run_python", { code }, { callId: "1" })]);
  expect(await main(model)).toBe("ok");
  expect(JSON.stringify(model.lastCall?.request.input)).toContain(sum);
});

test("the example of LangChain runs with a fake model", async () => {
  const { main } = await exampleOf("langchain");
  const model = langChainModel();
  expect(await main(model)).toBe("ok");
  expect(JSON.stringify(model.calls.at(-1)?.messages)).toContain(sum);
});

test("the programs of docs/frameworks.md run with fake models", async () => {
  await using opened = await openCodecell();
  const { codecell } = opened;
  const session = await codecell.session();
  const graph = langChainModel();
  const openAi = [
    openAiModel([functionCall("run_python", { code }, { callId: "1" })]),
    openAiModel(),
    openAiModel([functionCall("exec_command", { cmd: "python3 --version" }, { callId: "1" })]),
  ];
  const left = [...openAi];
  /** The packages of the page, with a fake model wherever a program chooses one. */
  const packages: Record<string, object> = {
    ai: { ...ai, generateText: (options: object) => ai.generateText({ ...options, model: aiModel() } as never) },
    "@openai/agents": {
      ...agents,
      run: (agent: never, prompt: string, options: object) =>
        new agents.Runner({ model: left.shift() as ScriptedModel }).run(agent, prompt, options),
    },
    "@openai/agents/sandbox": await import("@openai/agents/sandbox"),
    deepagents: {
      ...deepagents,
      createDeepAgent: (options: object) => deepagents.createDeepAgent({ ...options, model: graph }),
    },
    codecell: { Codecell },
    "codecell/ai-sdk": await import("../../src/surfaces/frameworks/ai-sdk/index.ts"),
    "codecell/openai-agents": await import("../../src/surfaces/frameworks/openai-agents/index.ts"),
    "codecell/langchain": await import("../../src/surfaces/frameworks/langchain/index.ts"),
  };
  const page = await readFile(join(import.meta.dirname, "../../docs/frameworks.md"), "utf8");
  const programs = [...page.matchAll(/```js[^\n]*\n([\s\S]*?)```/g)].map(([, program = ""]) => program);
  expect(programs).toHaveLength(3);
  const said: unknown[] = [];
  for (const program of programs) {
    const body = program.replace(/^import (\{[^}]*\}) from ("[^"]+");$/gm, "const $1 = packages[$2];");
    const parts = { packages, codecell, session, console: { log: (text: unknown) => said.push(text) } };
    await new AsyncFunction(...Object.keys(parts), `{${body}}`)(...Object.values(parts));
  }
  expect(said).toEqual([sum, "ok", "ok"]);
  expect(JSON.stringify(openAi[0]?.lastCall?.request.input)).toContain(sum);
  expect(openAi[1]?.lastCall?.request.tools.map(({ type }) => type)).toEqual(["shell", "apply_patch"]);
  expect(JSON.stringify(openAi[2]?.lastCall?.request.input)).toContain("Python 3.");
  expect(JSON.stringify(graph.calls.at(-1)?.messages)).toContain(sum);
});

const AsyncFunction = (async () => {}).constructor as new (...args: string[]) => (...args: unknown[]) => Promise<void>;

/** Runs the code, and answers what it printed. */
function aiModel(): MockLanguageModelV3 {
  const none = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0, text: 0, reasoning: 0 };
  const rest = { usage: { inputTokens: none, outputTokens: none }, warnings: [] };
  const call = { type: "tool-call" as const, toolCallId: "1", toolName: "run", input: JSON.stringify({ code }) };
  return new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const told = JSON.stringify(prompt).match(/\[stdout\]\\n(\d+)/)?.[1];
      if (told === undefined) return { content: [call], finishReason: { unified: "tool-calls", raw: "" }, ...rest };
      return { content: [{ type: "text", text: told }], finishReason: { unified: "stop", raw: "" }, ...rest };
    },
  });
}

function openAiModel(...turns: ReturnType<typeof functionCall>[][]): ScriptedModel {
  return new ScriptedModel([...turns, [assistantMessage("ok")]]);
}

function langChainModel() {
  const calls = [
    { name: "run_python", args: { code: `${code}\nopen("primes.txt", "w").write(str(primes))` }, id: "1" },
    { name: "execute", args: { command: "wc -c < primes.txt" }, id: "2" },
  ];
  const model = fakeModel();
  for (const call of calls) model.respond(new AIMessage({ content: "", tool_calls: [call] }));
  return model.respond(new AIMessage("ok"));
}

/** Examples are JavaScript, as a reader would start them. */
function exampleOf(name: string): Promise<{ main(model: unknown): Promise<unknown> }> {
  return import(`../../examples/frameworks/${name}.js`);
}
