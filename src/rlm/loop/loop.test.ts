import { describe, expect, test } from "vitest";
import { type CellScript, MarkedFailure, ScriptedCell } from "../../../test/fakes/scripted-cell.ts";
import { type LmScript, ScriptedLm, testPrices } from "../../../test/fakes/scripted-lm.ts";
import { CodecellError } from "../../lib/errors.ts";
import type { RlmEvent } from "../trajectory/event.ts";
import { defaultLimits, limitsFrom, lowerLimits } from "./limits.ts";
import { type RlmOptions, runRlm } from "./run-rlm.ts";

const fence = (code: string) => `\`\`\`python\n${code}\n\`\`\``;
/** The root model says these in order; the sub model echoes its prompt. */
const saying = (...replies: string[]): LmScript => {
  const rest = [...replies];
  return ({ model, messages }) =>
    model === "root" ? (rest.shift() ?? fence("noop")) : `answer to ${messages[0]?.text}`;
};
const submit = (input: Record<string, unknown>): CellScript => ({ submit: ({ call }) => call("SUBMIT", input) });

interface Setup extends Partial<Omit<RlmOptions, "cell" | "models">> {
  readonly script: LmScript;
  readonly code?: CellScript;
}

function start({ script, code = {}, ...options }: Setup) {
  const lm = new ScriptedLm(script);
  const cell = new ScriptedCell({ noop: () => undefined, print: ({ print }) => print("hello"), ...code });
  const run = runRlm({
    ...{ signature: "question -> answer", inputs: { question: { value: "why?" } }, root: "root", sub: "sub" },
    ...{ models: lm.gateway(), prices: testPrices, cell, ...options },
  });
  return { lm, cell, run };
}

async function perform(setup: Setup) {
  const { lm, cell, run } = start(setup);
  const result = await run.result;
  const events: RlmEvent[] = [];
  for await (const event of run.events) events.push(event);
  /** what the root model was told last in its nth request */
  const told = (index: number) => lm.to("root")[index]?.messages.at(-1)?.text ?? "";
  return { result, lm, cell, events, told };
}

describe("DSPy 1.7: a turn", () => {
  test("shows the inputs and the turn, runs the code, and shows the output in the next turn", async () => {
    const { result, told, cell } = await perform({
      script: saying(fence("print"), fence("submit")),
      code: submit({ answer: "42" }),
    });
    expect(result).toMatchObject({ finish: "submitted", outputs: { answer: "42" }, iterations: 2 });
    expect(told(0)).toContain("Variable: question");
    expect(told(0)).toContain("Turn 1/20. Left: 50 sub-calls");
    expect(told(1)).toContain("Output (6 chars):\n```\nhello\n\n```");
    expect(told(1)).toContain("Turn 2/20");
    expect(cell.ran).toEqual(["print", "submit"]);
    expect(cell.functions).toEqual([]); // removed at the end
  });

  test("keeps an input that code has changed: inputs are set once", async () => {
    const { cell } = await perform({
      script: saying(fence("change"), fence("submit")),
      code: { change: ({ variables }) => variables.set("question", "changed"), ...submit({ answer: "a" }) },
    });
    expect(cell.variables.get("question")).toBe("changed");
  });

  test("that fails shows the error, and the run goes on", async () => {
    const { result, told } = await perform({
      script: saying(fence("broken ("), fence("raise"), fence("submit")),
      code: {
        raise: () => {
          throw new RangeError("no such key");
        },
        ...submit({ answer: "a" }),
      },
    });
    expect(result.finish).toBe("submitted");
    expect(told(1)).toContain("SyntaxError");
    expect(told(2)).toContain("RangeError: no such key");
  });

  test("without code, or with another language, is an error that is fed back", async () => {
    const { result, told } = await perform({
      script: saying("I think about it.", "```bash\nls\n```", fence("submit")),
      code: submit({ answer: "a" }),
    });
    expect(result).toMatchObject({ finish: "submitted", iterations: 3 });
    expect(told(1)).toContain("Your reply has no code.");
    expect(told(2)).toContain('a block of "bash"');
  });

  test("with an empty reply is an error that is fed back, and not a crash", async () => {
    const { result, lm } = await perform({ script: saying("", fence("submit")), code: submit({ answer: "a" }) });
    expect(result.finish).toBe("submitted");
    expect(lm.to("root")[1]?.messages[1]).toEqual({ role: "assistant", text: "(no reply)" });
  });

  test("whose reply is cut off does not run its code", async () => {
    const { result, told, cell } = await perform({
      script: (_request, index) => (index === 0 ? { text: fence("print"), stop: "max_tokens" } : fence("submit")),
      code: submit({ answer: "a" }),
    });
    expect(result.finish).toBe("submitted");
    expect(told(1)).toContain("cut off");
    expect(cell.ran).toEqual(["submit"]);
  });

  test("runs the first of several blocks and says so", async () => {
    const { told, cell } = await perform({
      script: saying(`${fence("print")}\n${fence("noop")}`, fence("submit")),
      code: submit({ answer: "a" }),
    });
    expect(cell.ran[0]).toBe("print");
    expect(told(1)).toContain("Only your first block of Python ran. One more was ignored");
  });

  test("shows long output with head, tail and true length", async () => {
    const { told } = await perform({
      script: saying(fence("long"), fence("submit")),
      code: { long: ({ print }) => print("x".repeat(50_000)), ...submit({ answer: "a" }) },
    });
    expect(told(1)).toContain("Output (50,001 chars):");
    expect(told(1)).toContain("(40,001 characters omitted)");
    expect(told(1).length).toBeLessThan(11_000);
  });
});

describe("DSPy 1.7: SUBMIT", () => {
  test("converts values by their types", async () => {
    const { result } = await perform({
      ...{ signature: "question -> n: int, tags: list[str]", script: saying(fence("submit")) },
      code: submit({ n: "3", tags: '["a"]' }),
    });
    expect(result.outputs).toEqual({ n: 3, tags: ["a"] });
  });

  test("with a wrong type or a missing field is refused, fed back, and costs a turn", async () => {
    const { result, told, events } = await perform({
      ...{ signature: "question -> n: int, why", script: saying(fence("bad"), fence("submit")) },
      code: { bad: ({ call }) => call("SUBMIT", { n: "three" }), ...submit({ n: 3, why: "w" }) },
    });
    expect(result).toMatchObject({ finish: "submitted", iterations: 2 });
    expect(told(1)).toContain('- n: expected int, got str "three"');
    expect(told(1)).toContain("- why: is missing; call SUBMIT(n=…, why=…)");
    expect(events.filter(({ type }) => type === "submit")).toMatchObject([{ valid: false }, { valid: true }]);
  });

  test("that is refused is fed back even if the code catches the error", async () => {
    const { told } = await perform({
      script: saying(fence("quiet"), fence("submit")),
      code: { quiet: ({ call }) => call("SUBMIT", {}).catch(() => {}), ...submit({ answer: "a" }) },
    });
    expect(told(1)).toContain("SUBMIT was refused");
  });

  test("ends that run: the first outputs that are accepted count", async () => {
    const { result } = await perform({
      script: saying(fence("twice")),
      code: {
        twice: async ({ call }) => {
          await call("SUBMIT", { answer: "first" }).catch(() => {});
          await call("SUBMIT", { answer: "second" });
        },
      },
    });
    expect(result.outputs).toEqual({ answer: "first" });
  });

  test("may be refused only so often", async () => {
    const { result, lm } = await perform({
      ...{ signature: "question -> n: int", limits: { submitRetries: 2, maxConsecutiveErrors: 9 } },
      script: () => fence("bad"),
      code: { bad: ({ call }) => call("SUBMIT", { n: "x" }) },
    });
    expect(result).toMatchObject({ finish: "limit:submits", outputs: null });
    expect(lm.requests).toHaveLength(3);
  });
});

describe("DSPy 1.7: llm_query", () => {
  test("returns the answer of the sub model, which sees only the prompt", async () => {
    const { result, lm } = await perform({
      script: saying(fence("ask")),
      code: { ask: async ({ call }) => call("SUBMIT", { answer: await call("llm_query", { prompt: "who?" }) }) },
    });
    expect(result.outputs).toEqual({ answer: "answer to who?" });
    expect(lm.to("sub")).toEqual([{ model: "sub", messages: [{ role: "user", text: "who?" }], maxTokens: 8192 }]);
  });

  test("with an empty or too long prompt raises before anything is sent", async () => {
    const { told, lm } = await perform({
      ...{
        limits: { maxPromptChars: 20 },
        script: saying(fence("empty"), fence("long"), fence("batch"), fence("submit")),
      },
      code: {
        empty: ({ call }) => call("llm_query", { prompt: " " }),
        long: ({ call }) => call("llm_query", { prompt: "x".repeat(21) }),
        batch: ({ call }) => call("llm_query_batched", { prompts: ["fine", ""] }),
        ...submit({ answer: "a" }),
      },
    });
    expect(told(1)).toContain("RangeError: prompt is empty");
    expect(told(2)).toContain("prompt has 21 characters; the limit is 20. Split the text into parts of at most 18");
    expect(told(3)).toContain("prompts[1] is empty");
    expect(lm.to("sub")).toEqual([]);
  });

  test("over the limit of calls raises, with what to do, and the calls of the root do not count", async () => {
    const { told, lm } = await perform({
      ...{ limits: { maxLlmCalls: 1 }, script: saying(fence("ask"), fence("ask"), fence("submit")) },
      code: { ask: ({ call }) => call("llm_query", { prompt: "who?" }), ...submit({ answer: "a" }) },
    });
    expect(told(2)).toContain("1 call spent");
    expect(lm.to("sub")).toHaveLength(1);
    expect(lm.to("root")).toHaveLength(3);
  });

  test("raises if the model fails, refuses, or is cut off", async () => {
    const replies = [
      new CodecellError("model_failed", "overloaded"),
      { stop: "refusal" as const },
      { stop: "max_tokens" as const },
    ];
    const { told } = await perform({
      script: ({ model }, index) =>
        model === "sub" ? (replies.shift() ?? "") : index < 6 ? fence("ask") : fence("submit"),
      code: { ask: ({ call }) => call("llm_query", { prompt: "who?" }), ...submit({ answer: "a" }) },
    });
    expect(told(1)).toContain("overloaded");
    expect(told(1)).toContain("1 of the 1 sub-calls of this block failed.");
    expect(told(2)).toContain("the model refused to answer");
    expect(told(3)).toContain("cut off at 8192 tokens");
  });
});

describe("DSPy 1.7: llm_query_batched", () => {
  test("of an empty list is an empty list", async () => {
    const seen: unknown[] = [];
    await perform({
      script: saying(fence("batch"), fence("submit")),
      code: {
        batch: async ({ call }) => seen.push(await call("llm_query_batched", { prompts: [] })),
        ...submit({ answer: "a" }),
      },
    });
    expect(seen).toEqual([[]]);
  });

  test("keeps the order, whatever answers first, and marks failures in place", async () => {
    let answers: unknown[] = [];
    const waits = [30, 5, 0, 20];
    const { told } = await perform({
      script: async ({ model, messages }, index) => {
        if (model === "root") return fence(index === 0 ? "batch" : "submit");
        const text = messages[0]?.text ?? "";
        await new Promise((resolve) => setTimeout(resolve, waits[Number(text)]));
        return text === "2" ? new CodecellError("model_failed", "status 500") : `answer ${text}`;
      },
      code: {
        batch: async ({ call }) => {
          answers = (await call("llm_query_batched", { prompts: ["0", "1", "2", "3"] })) as unknown[];
        },
        ...submit({ answer: "a" }),
      },
    });
    expect(answers).toEqual(["answer 0", "answer 1", expect.any(MarkedFailure), "answer 3"]);
    expect(answers[2]).toMatchObject({ ok: false, text: expect.stringContaining("[ERROR] status 500") });
    expect(told(1)).toContain("1 of the 4 sub-calls of this block failed.");
  });

  test("that is larger than what is left sends nothing", async () => {
    const { told, lm } = await perform({
      ...{ limits: { maxLlmCalls: 3 }, script: saying(fence("four"), fence("three"), fence("submit")) },
      code: {
        four: ({ call }) => call("llm_query_batched", { prompts: ["a", "b", "c", "d"] }),
        three: ({ call }) => call("llm_query_batched", { prompts: ["a", "b", "c"] }),
        ...submit({ answer: "a" }),
      },
    });
    expect(told(1)).toContain("the budget does not allow this call: it needs up to 4 calls");
    expect(lm.to("sub")).toHaveLength(3);
    expect(told(2)).toContain("Left: 0 sub-calls");
    expect(told(2)).toContain("Warning: 95 % of the sub-call budget is used.");
  });
});

describe("DSPy 1.7: when the turns are used up", () => {
  test("the outputs are extracted from the conversation, and the result says so", async () => {
    const { result, lm, told } = await perform({
      ...{ signature: "question -> n: int", limits: { maxIters: 2 } },
      script: saying(fence("print"), fence("print"), '```json\n{"n": "7"}\n```'),
    });
    expect(result).toMatchObject({ finish: "extracted", limit: "turns", outputs: { n: 7 }, iterations: 2 });
    expect(told(1)).toContain("This is your last turn.");
    expect(told(2)).toContain("No more code can run.");
    expect(lm.requests).toHaveLength(3);
  });

  test("an extraction that does not fit is tried once more, and then there are no outputs", async () => {
    const { result, lm } = await perform({
      ...{ signature: "question -> n: int", limits: { maxIters: 1 } },
      script: saying(fence("print"), '{"n": "x"}', "sorry"),
    });
    expect(result).toMatchObject({ finish: "limit:turns", outputs: null });
    expect(result.message).toContain("the reply has no JSON object");
    expect(lm.requests).toHaveLength(3);
  });

  test("nothing is extracted if no code ever succeeded, because a model could only invent an answer", async () => {
    const { result, lm } = await perform({ limits: { maxIters: 3 }, script: saying("a", fence("broken"), "b") });
    expect(result).toMatchObject({ finish: "limit:turns", outputs: null });
    expect(result.message).toContain("no code ever ran without an error");
    expect(lm.requests).toHaveLength(3);
  });
});

describe("DSPy 1.7: a session that is gone ends the run at once", () => {
  test.each<[string, CellScript[string]]>([
    [
      "a cell that is lost",
      () => {
        throw new CodecellError("cell_lost", "the cell exited");
      },
    ],
    ["a crash that loses the variables", () => ({ status: "crashed", state: "lost" })],
  ])("%s", async (_, crash) => {
    const { result, lm } = await perform({ script: saying(fence("print"), fence("crash")), code: { crash } });
    expect(result).toMatchObject({ finish: "error", outputs: null, error: { code: "cell_lost" } });
    expect(lm.requests).toHaveLength(2);
  });

  test("a crash that is recovered is fed back", async () => {
    const { result, told } = await perform({
      script: saying(fence("crash"), fence("submit")),
      code: { crash: () => ({ status: "crashed", state: "recovered" }), ...submit({ answer: "a" }) },
    });
    expect(result.finish).toBe("submitted");
    expect(told(1)).toContain("Your variables are back as they were before this block.");
  });
});

describe("a run stops", () => {
  test("after too many errors in a row, and a success in between resets the count", async () => {
    const { result, lm } = await perform({
      limits: { maxConsecutiveErrors: 2 },
      script: saying(fence("broken"), fence("print"), fence("broken"), fence("broken"), '{"answer": "x"}'),
    });
    expect(result).toMatchObject({ finish: "extracted", limit: "errors", iterations: 4 });
    expect(lm.requests).toHaveLength(5);
  });

  test("when its time is up, while a model or code is under way, and extracts nothing", async () => {
    const waiting = (signal: AbortSignal) =>
      new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
    const slowModel = await perform({
      limits: { maxWallMs: 50 },
      script: (_request, _index, signal) => waiting(signal),
    });
    expect(slowModel.result).toMatchObject({ finish: "limit:time", outputs: null, iterations: 1 });
    const slowCode = await perform({
      ...{ limits: { maxWallMs: 50 }, script: saying(fence("slow")) },
      code: { slow: ({ signal }) => waiting(signal) },
    });
    expect(slowCode.result).toMatchObject({ finish: "limit:time", limit: "time" });
    expect(slowCode.lm.requests).toHaveLength(1);
  });

  test("when it is cancelled, by its caller or by a signal", async () => {
    const { run } = start({
      script: (_request, _index, signal) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    });
    for await (const event of run.events) if (event.type === "lm_request") run.cancel("no longer needed");
    expect(await run.result).toMatchObject({ finish: "cancelled", message: "no longer needed" });
    const aborted = await perform({ script: saying(), signal: AbortSignal.abort(new Error("shutting down")) });
    expect(aborted.result).toMatchObject({ finish: "cancelled", message: "shutting down" });
    expect(aborted.lm.requests).toEqual([]);
  });

  test("with an error when the root model fails or refuses", async () => {
    const failed = await perform({ script: () => new CodecellError("model_failed", "status 401") });
    expect(failed.result).toMatchObject({ finish: "error", error: { code: "model_failed" }, outputs: null });
    const refused = await perform({ script: () => ({ stop: "refusal" }) });
    expect(refused.result.message).toContain("refused");
  });

  test("at once with an error when a variable that it names is missing", async () => {
    const { result } = await perform({ script: saying(), inputs: { question: { var: "nowhere" } } });
    expect(result).toMatchObject({ finish: "error", error: { code: "variable_missing" } });
  });
});

describe("the budget of a run", () => {
  test("keeps enough for a last turn: when it allows no other, the model is told to submit", async () => {
    const { result, told, lm } = await perform({
      ...{ limits: { maxTokens: 40_000 }, script: saying(fence("print"), fence("burn"), fence("submit")) },
      code: {
        burn: async ({ call }) => {
          for (;;) await call("llm_query", { prompt: "x".repeat(4000), max_tokens: 100 });
        },
        ...submit({ answer: "saved" }),
      },
    });
    expect(result).toMatchObject({ finish: "submitted", outputs: { answer: "saved" } });
    expect(told(2)).toContain("the budget does not allow this call");
    expect(lm.to("sub").length).toBeGreaterThan(2);
    expect(lm.to("root")).toHaveLength(3);
    expect(result.usage.total.inputTokens + result.usage.total.outputTokens).toBeLessThanOrEqual(40_000);
  });

  test("that is used up ends the run with that limit", async () => {
    const { result, lm } = await perform({ limits: { maxUsd: 0.0001 }, script: saying() });
    expect(result).toMatchObject({ finish: "limit:usd", outputs: null });
    expect(lm.requests).toEqual([]);
  });

  test("is what budget() returns", async () => {
    let seen: unknown;
    await perform({
      ...{ limits: { maxUsd: null, maxLlmCalls: 9 }, script: saying(fence("look"), fence("submit")) },
      code: {
        look: async ({ call }) => {
          await call("llm_query", { prompt: "x" });
          seen = await call("budget");
        },
        ...submit({ answer: "a" }),
      },
    });
    expect(seen).toMatchObject({ turns_left: 19, calls_left: 8, usd_left: null, depth_left: 1 });
  });

  test("is refused at the start if it caps money and the model has no price", async () => {
    const { result } = await perform({ script: saying(), root: "unknown-model" });
    expect(result).toMatchObject({ finish: "error", error: { code: "model_unavailable" } });
  });
});

describe("messages", () => {
  test("are only appended, and the system prompt never changes, so that a provider can cache them", async () => {
    const { lm } = await perform({
      script: saying(fence("print"), "no code", fence("print"), fence("submit")),
      code: submit({ answer: "a" }),
    });
    const requests = lm.to("root");
    expect(requests).toHaveLength(4);
    for (const [index, { messages, system, cachePrefix }] of requests.entries()) {
      expect(system).toBe(requests[0]?.system);
      expect(cachePrefix).toBe(true);
      const before = requests[index - 1]?.messages ?? [];
      expect(messages.slice(0, before.length)).toEqual(before);
      expect(messages.map(({ role }) => role)).toEqual(messages.map((_, at) => (at % 2 === 0 ? "user" : "assistant")));
    }
  });

  test("never hold a long input whole", async () => {
    const { lm } = await perform({
      ...{ inputs: { question: { value: `${"a".repeat(400_000)}secret${"b".repeat(400_000)}` } } },
      ...{ script: saying(fence("submit")), code: submit({ answer: "a" }) },
    });
    const [message] = lm.requests[0]?.messages ?? [];
    expect(message?.text).toContain("Length: 800,006 characters");
    expect(message?.text).not.toContain("secret");
    expect(message?.text.length).toBeLessThan(1500);
  });
});

describe("wrong calls fail before anything runs", () => {
  test.each<[string, Partial<RlmOptions>, string]>([
    ["a bad signature", { signature: "question" }, "there is no ready signature"],
    ["a missing input", { inputs: {} }, "the input question is missing"],
    ["an unknown input", { inputs: { question: { value: "q" }, other: { value: 1 } } }, "other is not an input"],
    ["an unknown limit", { limits: { maxTurns: 3 } as object }, "there is no limit named maxTurns"],
    ["a wrong limit", { limits: { maxIters: 0 } }, "maxIters is 0"],
    ["a depth that is too large", { limits: { maxDepth: 4 } }, "maxDepth is 4"],
  ])("%s", (_, options, message) => {
    expect(() => start({ script: saying(), ...options })).toThrow(message);
  });

  test("DSPy 1.7: the defaults", () => {
    expect(defaultLimits).toMatchObject({
      maxIters: 20,
      maxLlmCalls: 50,
      maxOutputChars: 10_000,
      maxDepth: 1,
      maxUsd: 1,
    });
  });

  test("a call may lower a limit and never raise it", () => {
    const parent = limitsFrom({ maxIters: 10, maxUsd: null, maxTokens: 1000 });
    expect(lowerLimits(parent, { maxIters: 50, maxUsd: 0.5, maxTokens: null })).toMatchObject({
      ...{ maxIters: 10, maxUsd: 0.5, maxTokens: 1000 },
    });
  });
});
