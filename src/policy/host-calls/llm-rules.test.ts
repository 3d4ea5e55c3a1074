import { describe, expect, test } from "vitest";
import { mergePolicy, settlePolicy } from "../change/merge.ts";
import { parsePolicy } from "../file/parse-policy.ts";
import type { PolicyInput, PolicyOverride } from "../schema.ts";

const problem = (input: unknown) => {
  try {
    parsePolicy(input as PolicyInput);
  } catch (error) {
    return (error as Error).message;
  }
  return "valid";
};
const merged = (llm: PolicyInput["llm"], override: PolicyOverride["llm"], authority: "host" | "model" = "model") => {
  try {
    return mergePolicy(parsePolicy({ llm }), { llm: override }, authority).policy.llm;
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe("the section llm of a policy", () => {
  test("allows no model in the empty policy, and has limits as soon as one is named", () => {
    expect(parsePolicy({}).llm.models).toEqual([]);
    expect(parsePolicy({ llm: { models: ["gpt-5"] } }).llm).toEqual({
      ...{ models: ["gpt-5"], calls: 50, tokens: 2_000_000, usd: 1, depth: 1, concurrency: 8, promptChars: 400_000 },
      ...{ callTimeoutMs: 120_000, timeoutMs: 600_000 },
    });
  });

  test.each([
    [{ model: ["gpt-5"] }, "llm.model: unknown rule (did you mean models?)"],
    [{ models: ["-x"] }, "llm.models[0]: expected a model"],
    [{ models: ["a b"] }, "llm.models[0]: expected a model"],
    [{ calls: 0 }, "llm.calls: at least 1"],
    [{ depth: 4 }, "llm.depth: at most 3"],
    [{ usd: -1 }, "llm.usd: expected US dollars"],
    [{ usd: "none" }, "llm.usd: expected US dollars"],
    [{ usd: Number.NaN }, "llm.usd: expected US dollars"],
    [{ tokens: 1.5 }, "llm.tokens: expected a whole number"],
    [{ timeout: 60 }, "did you mean 60s?"],
    [{ callTimeout: "48h" }, "llm.callTimeout: at most 24h"],
  ])("rejects %j", (llm, message) => {
    expect(problem({ llm })).toContain(message);
  });

  test("a model may lower every limit, and raise none", () => {
    const base = { models: ["claude-*", "gpt-5"] };
    const lower = { models: ["claude-haiku-*"], calls: 5, tokens: 10, usd: 0.1, depth: 0, concurrency: 1 };
    expect(merged(base, { ...lower, promptChars: 10, callTimeout: "1s", timeout: "1s" })).toMatchObject(lower);
    for (const raised of [
      ...[{ models: ["*"] }, { models: ["claude-*", "gpt-5", "o3"] }, { models: ["openai/claude-x"] }, { calls: 51 }],
      ...[{ tokens: 2_000_001 }, { usd: 1.01 }, { usd: "unlimited" as const }, { depth: 2 }, { concurrency: 9 }],
      ...[{ promptChars: 400_001 }, { callTimeout: "121s" }, { timeout: "601s" }],
    ]) {
      expect([raised, merged(base, raised)]).toEqual([raised, "override_refused"]);
    }
  });

  test("a host program may raise a limit up to the ceiling, and only the limits that the ceiling names", () => {
    const policy = parsePolicy({
      llm: { models: ["claude-*"] },
      overrides: { ceiling: { llm: { usd: 5, models: ["gpt-*"] } } },
    });
    const allowed = mergePolicy(policy, { llm: { usd: 5, models: ["claude-opus-4", "gpt-5"] } }, "host").policy.llm;
    expect(allowed).toMatchObject({ usd: 5, models: ["claude-opus-4", "gpt-5"] });
    for (const llm of [{ usd: 5.01 }, { usd: "unlimited" as const }, { calls: 51 }, { models: ["o3"] }]) {
      expect(() => mergePolicy(policy, { llm }, "host")).toThrow(expect.objectContaining({ code: "override_refused" }));
    }
  });

  test("a request that the operator no longer permits is reduced to what both permit", () => {
    const settled = settlePolicy(
      parsePolicy({ llm: { models: ["claude-*"], usd: 1 } }),
      { llm: { models: ["claude-haiku-4", "gpt-5"], usd: "unlimited", calls: 99 } },
      "model",
    );
    expect(settled.llm).toMatchObject({ models: ["claude-haiku-4"], usd: 1, calls: 50 });
  });
});
