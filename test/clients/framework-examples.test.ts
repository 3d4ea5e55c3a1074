import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage } from "@langchain/core/messages";
import { setTracingDisabled } from "@openai/agents";
import { assistantMessage, functionCall, ScriptedModel } from "@openai/agents/testing";
import { MockLanguageModelV3 } from "ai/test";
import { fakeModel } from "langchain";
import { afterAll, beforeAll, expect, test, vi } from "vitest";

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
  setTracingDisabled(true);
});
afterAll(() => rm(stateHome, { recursive: true, force: true }));

test("the example of the AI SDK runs with a fake model", async () => {
  const { main } = await exampleOf("ai-sdk");
  const none = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0, text: 0, reasoning: 0 };
  const rest = { usage: { inputTokens: none, outputTokens: none }, warnings: [] };
  const call = { type: "tool-call" as const, toolCallId: "1", toolName: "run", input: JSON.stringify({ code }) };
  const model = new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const told = JSON.stringify(prompt).match(/\[stdout\]\\n(\d+)/)?.[1];
      if (told === undefined) return { content: [call], finishReason: { unified: "tool-calls", raw: "" }, ...rest };
      return { content: [{ type: "text", text: told }], finishReason: { unified: "stop", raw: "" }, ...rest };
    },
  });
  expect(await main(model)).toBe(sum);
});

test("the example of OpenAI Agents runs with a fake model", async () => {
  const { main } = await exampleOf("openai-agents");
  const model = new ScriptedModel([[functionCall("run_python", { code }, { callId: "1" })], [assistantMessage("ok")]]);
  expect(await main(model)).toBe("ok");
  expect(JSON.stringify(model.lastCall?.request.input)).toContain(sum);
});

test("the example of LangChain runs with a fake model", async () => {
  const { main } = await exampleOf("langchain");
  const calls = [
    { name: "run_python", args: { code: `${code}\nopen("primes.txt", "w").write(str(primes))` }, id: "1" },
    { name: "execute", args: { command: "wc -c < primes.txt" }, id: "2" },
  ];
  const model = fakeModel();
  for (const call of calls) model.respond(new AIMessage({ content: "", tool_calls: [call] }));
  model.respond(new AIMessage("ok"));
  expect(await main(model)).toBe("ok");
  expect(JSON.stringify(model.calls.at(-1)?.messages)).toContain(sum);
});

/** Examples are JavaScript, as a reader would start them. */
function exampleOf(name: string): Promise<{ main(model: unknown): Promise<unknown> }> {
  return import(`../../examples/frameworks/${name}.js`);
}
