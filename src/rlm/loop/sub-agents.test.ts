import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type CellScript, MarkedFailure, ScriptedCell } from "../../../test/fakes/scripted-cell.ts";
import { type LmScript, ScriptedLm, testPrices } from "../../../test/fakes/scripted-lm.ts";
import { tokensOf } from "../trajectory/cost.ts";
import type { RlmEvent } from "../trajectory/event.ts";
import { readTrajectory } from "../trajectory/reader.ts";
import { trajectoryTree } from "../trajectory/tree.ts";
import { type RlmOptions, runRlm } from "./run-rlm.ts";

const fence = (code: string) => `\`\`\`python\n${code}\n\`\`\``;
const isFor = (text: string) => (request: { system?: string }) => request.system?.includes(text) ?? false;
/** the system prompt of the sub-agent names its output */
const isChild = isFor("- summary (str)");

async function perform(script: LmScript, code: CellScript, options: Partial<RlmOptions> = {}) {
  const lm = new ScriptedLm(script);
  const cell = new ScriptedCell({ print: ({ print }) => print("hello"), ...code });
  const run = runRlm({
    ...{ signature: "text -> answer: Any", inputs: { text: { value: "abc" } }, root: "root", sub: "sub" },
    ...{ models: lm.gateway(), prices: testPrices, cell, ...options },
  });
  return { result: await run.result, lm, cell };
}

async function performWithEvents(script: LmScript, options: Partial<RlmOptions>) {
  const lm = new ScriptedLm(script);
  const run = runRlm({
    ...{ signature: "text -> answer: Any", inputs: { text: { value: "abc" } }, root: "root", sub: "sub" },
    ...{ models: lm.gateway(), prices: testPrices, cell: new ScriptedCell({}), ...options },
  });
  const events: RlmEvent[] = [];
  for await (const event of run.events) events.push(event);
  return { result: await run.result, events };
}

const asking: CellScript = {
  ask: async ({ call, fork }) =>
    call("SUBMIT", { answer: await fork("rlm_query", "part -> summary", { part: "a part" }) }),
  many: async ({ call, fork, variables }) => {
    const inputs = ["a", "b", "c"].map((part) => ({ part }));
    variables.set("answers", await fork("rlm_query_batched", "part -> summary", inputs));
    await call("SUBMIT", { answer: null });
  },
};

describe("DSPy 3.4: a sub-agent", () => {
  test("works in a fork with its declared inputs only, and returns its declared outputs", async () => {
    const { result, cell, lm } = await perform((request) => fence(isChild(request) ? "child" : "ask"), {
      ...asking,
      child: async ({ variables, call }) => {
        expect([...variables.keys()]).toEqual(["part"]);
        variables.set("own", 1);
        await call("SUBMIT", { summary: `short ${variables.get("part")}` });
      },
    });
    expect(result).toMatchObject({ finish: "submitted", outputs: { answer: { summary: "short a part" } } });
    expect(cell.forks).toHaveLength(1);
    expect(cell.forks[0]?.isClosed).toBe(true);
    expect([...cell.variables.keys()]).toEqual(["text"]);
    expect(lm.requests.find(isChild)?.messages[0]?.text).toContain("Variable: part");
  });

  test("in a large batch does not make Node warn about leaked listeners", async () => {
    const warnings: string[] = [];
    const onWarning = ({ name }: Error) => warnings.push(name);
    process.on("warning", onWarning);
    try {
      const { result, cell } = await perform((request) => fence(isChild(request) ? "child" : "batch"), {
        batch: async ({ call, fork }) => {
          const inputs = Array.from({ length: 20 }, () => ({ part: "a" }));
          await fork("rlm_query_batched", "part -> summary", inputs);
          await call("SUBMIT", { answer: null });
        },
        child: ({ call }) => call("SUBMIT", { summary: "short" }),
      });
      await new Promise(setImmediate); // warnings are emitted in the next tick
      expect({ finish: result.finish, forks: cell.forks.length, warnings }).toEqual({
        ...{ finish: "submitted", forks: 20, warnings: [] },
      });
    } finally {
      process.off("warning", onWarning);
    }
  });

  test("that ends without outputs raises in the code that asked, with the reason", async () => {
    const { result } = await perform((request) => (isChild(request) ? "no code" : fence("try")), {
      try: async ({ call, fork }) => {
        const failed = await fork("rlm_query", "part -> summary", { part: "x" }).catch(String);
        await call("SUBMIT", { answer: failed });
      },
    });
    expect(result.outputs?.answer).toContain("the sub-agent ended without outputs (limit:errors)");
  });

  test("gets a clear error for a bad signature, a missing or an unknown input", async () => {
    const { result } = await perform(() => fence("bad"), {
      bad: async ({ call, fork }) => {
        const attempts = [
          fork("rlm_query", "part -> sumary: lst", { part: "x" }),
          fork("rlm_query", "part -> summary", {}),
          fork("rlm_query", "part -> summary", { part: 1, other: 2 }),
        ];
        const messages = await Promise.all(attempts.map((attempt) => attempt.catch(String)));
        await call("SUBMIT", { answer: messages });
      },
    });
    const [type, missing, unknown] = (result.outputs?.answer ?? []) as string[];
    expect(type).toContain("RangeError: the signature is not valid: unknown type lst");
    expect(type).toContain("did you mean list?");
    expect(missing).toContain("the input part is missing");
    expect(unknown).toContain("other is not an input");
  });

  test("at the depth limit is one call of a model, with typed outputs", async () => {
    const { result, lm } = await perform(
      ({ model }) => (model === "sub" ? '```json\n{"summary": "short"}\n```' : fence("ask")),
      asking,
      { limits: { maxDepth: 0 } },
    );
    expect(result.outputs).toEqual({ answer: { summary: "short" } });
    expect(lm.to("root")).toHaveLength(1);
    const prompt = lm.to("sub")[0]?.messages[0]?.text;
    expect(prompt).toContain("# part\n\na part");
    expect(prompt).toContain('"summary":{"type":"string"}');
  });

  test("of a sub-agent follows the same limit: with depth 1, its own rlm_query is one call", async () => {
    const { result, lm } = await perform(
      (request) => (request.model === "sub" ? '{"summary": "deep"}' : fence(isChild(request) ? "deeper" : "ask")),
      {
        ...asking,
        deeper: async ({ call, fork }) =>
          call("SUBMIT", (await fork("rlm_query", "part -> summary", { part: "y" })) as Record<string, unknown>),
      },
    );
    expect(result.outputs).toEqual({ answer: { summary: "deep" } });
    expect(lm.to("sub")).toHaveLength(1);
  });

  test("does not start where the runner cannot fork, and the code sees why", async () => {
    const code: CellScript = {
      try: async ({ call, fork }) => {
        const failed = await fork("rlm_query", "part -> summary", { part: "x" }).catch((error) => error.message);
        await call("SUBMIT", { answer: failed });
      },
    };
    const cell = new ScriptedCell(code, { canFork: false });
    const { result, lm } = await perform(() => fence("try"), code, { cell });
    expect(result.outputs?.answer).toBe("this runner does not support forks: pass the text to llm_query instead");
    expect(lm.requests).toHaveLength(1);
  });

  test("is cancelled when the run is", async () => {
    const controller = new AbortController();
    const { result, cell } = await perform(
      (request, _index, signal) => {
        if (!isChild(request)) return fence("ask");
        const stopped = new Promise<never>((_, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
        );
        controller.abort(new Error("stop"));
        return stopped;
      },
      asking,
      { signal: controller.signal },
    );
    expect(result).toMatchObject({ finish: "cancelled", message: "stop" });
    expect(cell.forks[0]?.isClosed).toBe(true);
  });
});

describe("rlm_query_batched", () => {
  test("keeps the order and marks what failed", async () => {
    const { result, cell } = await perform(
      (request) => (isChild(request) ? fence("child") : fence("many")),
      {
        ...asking,
        child: async ({ variables, call }) => {
          const part = String(variables.get("part"));
          await new Promise((resolve) => setTimeout(resolve, part === "a" ? 20 : 0));
          if (part === "b") return;
          await call("SUBMIT", { summary: part.toUpperCase() });
        },
      },
      { limits: { maxIters: 1 } },
    );
    expect(result.finish).toBe("submitted");
    const [first, second, third] = cell.variables.get("answers") as unknown[];
    expect([first, third]).toEqual([{ summary: "A" }, { summary: "C" }]);
    expect(second).toBeInstanceOf(MarkedFailure);
    expect(cell.forks.map(({ isClosed }) => isClosed)).toEqual([true, true, true]);
  });
});

describe("the budget of a tree", () => {
  test("DSPy 3.4: counts the turns of sub-agents as sub-calls, and the root's own turns not", async () => {
    const { result, lm } = await perform((request) => fence(isChild(request) ? "print" : "many"), asking, {
      limits: { maxLlmCalls: 6, maxIters: 2, maxConsecutiveErrors: 9 },
    });
    expect(lm.requests.filter(isChild).length).toBeLessThanOrEqual(6);
    expect(lm.requests.filter(isChild).length).toBeGreaterThan(3);
    expect(result.finish).toBe("submitted");
  });

  test("is never exceeded by sub-agents that work at the same time", async () => {
    const caps = { maxTokens: 90_000, maxLlmCalls: null };
    const { result } = await perform(
      (request) => fence(isChild(request) ? "burn" : "many"),
      {
        ...asking,
        burn: async ({ call }) => {
          for (;;) await call("llm_query", { prompt: "x".repeat(6000), max_tokens: 50 });
        },
      },
      { limits: caps },
    );
    expect(result.finish).toBe("submitted"); // the root still has its last turn
    expect(result.calls).toBeGreaterThan(5);
    expect(tokensOf(result.usage.total)).toBeLessThanOrEqual(90_000);
  });
});

test("a call that the budget refuses is recorded, and counts nowhere as a call", async () => {
  const { result, events } = await performWithEvents(() => fence("print"), { limits: { maxUsd: 0.0001 } });
  expect(events.find(({ type }) => type === "lm_response")).toMatchObject({ status: "refused" });
  expect(result).toMatchObject({ finish: "limit:usd", calls: 0 });
  expect(trajectoryTree(events)?.root.cost.calls).toBe(0);
});

test("a trajectory has every turn, call and sub-agent, and its costs are those of the result", async () => {
  const dir = await mkdtemp(join(tmpdir(), "codecell-rlm-"));
  try {
    const trajectoryPath = join(dir, "run.jsonl");
    const { result } = await perform(
      (request) => (request.model === "sub" ? "fine" : fence(isChild(request) ? "child" : "ask")),
      {
        ...asking,
        child: async ({ call }) => call("SUBMIT", { summary: await call("llm_query", { prompt: "who?" }) }),
      },
      { trajectoryPath },
    );
    const { events, problem } = await readTrajectory(trajectoryPath);
    const tree = trajectoryTree(events);
    expect(problem).toBeUndefined();
    expect(tree?.ignored).toBe(0);
    expect(tree?.root).toMatchObject({
      finish: "submitted",
      turns: [{ code: "ask", runs: [{ finish: "submitted", depth: 1 }] }],
    });
    expect(tree?.root.turns[0]?.runs[0]?.turns[0]?.calls[0]?.response?.text).toBe("fine");
    const { usd, ...total } = result.usage.total;
    expect(tree?.root.cost).toMatchObject(total);
    expect(tree?.root.cost.usd).toBeCloseTo(usd, 12);
    expect(usd).toBeGreaterThan(0);
    expect(result).toMatchObject({ calls: 3, trajectoryPath });
    expect(result.usage.byModel.root?.calls).toBe(2);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
